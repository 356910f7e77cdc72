// A picture of a chapter opens as large as the window is: by a click, or by Enter where it has the focus.
document.addEventListener("DOMContentLoaded", () => {
  for (const picture of document.querySelectorAll(".cell_output img")) {
    picture.tabIndex = 0;
    picture.addEventListener("click", () => enlarge(picture));
    picture.addEventListener("keydown", (event) => event.key === "Enter" && enlarge(picture));
  }
});

function enlarge(picture) {
  const dialog = document.createElement("dialog");
  dialog.className = "enlarged";
  const copy = new Image();
  copy.src = picture.src;
  copy.alt = picture.alt;
  dialog.append(copy);
  dialog.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => {
    dialog.remove();
    picture.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
}
