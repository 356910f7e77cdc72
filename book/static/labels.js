// The filters of a table have titles for those who see; here the same for those who use a screen reader or a keyboard.
document.addEventListener("DOMContentLoaded", () => {
  const label = () => {
    for (const input of document.querySelectorAll(".dtsp-search:not([aria-label])")) input.ariaLabel = input.title;
    for (const body of document.querySelectorAll(".dt-scroll-body:not([tabindex])")) body.tabIndex = 0;
  };
  if (document.querySelector("table[id^=every-claim]")) {
    new MutationObserver(label).observe(document.body, { childList: true, subtree: true });
    label();
  }
});
