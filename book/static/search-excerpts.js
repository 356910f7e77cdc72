// The search quotes and ranks pages by one script with the words of all of them (loaded on the search page alone): a page
// that is opened from a disk may not fetch another, and the code in a page is not what it says.
if (location.pathname.endsWith("/search.html")) {
  window.fetch = async (address) => {
    const main = document.createElement("div");
    main.setAttribute("role", "main");
    const page = decodeURI(new URL(address, location).href.slice(new URL(".", location).href.length));
    main.textContent = window.cassbookTexts[page.replace(/\.html$/, "")] ?? "";
    return new Response(main.outerHTML);
  };

  const asked = (new URLSearchParams(location.search).get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  // Chapters before guides, these before what is looked up; the index of functions last.
  const places = [[/^notebooks\/analyse\/(?!record-)/, 10], [/^book\/(library|recomputations|status|bibliography)/, -20], [/^book\/guides/, -10]];
  const place = (page) => places.find(([pattern]) => pattern.test(page))?.[1] ?? 0;
  // Words that people ask with for those in our titles.
  const outage = ["dies", "die", "dead", "down", "crash", "crashes", "killed", "outage", "fails", "fail", "failure", "failures"];
  const meant = asked.map((word) => (outage.includes(word) ? outage : [word]));
  const named = (title) => {
    const words = title.toLowerCase().split(/[^a-z0-9]+/);
    return meant.every((group) => group.some((word) => words.includes(word)));
  };
  // In a thousand words, how often the rarest of the words that were asked for stands there.
  const density = (page) => {
    const text = (window.cassbookTexts[page] ?? "").toLowerCase();
    const often = asked.map((word) => text.split(word.replace(/(?<=...)(es|s|ing|ed)$/, "")).length - 1);
    return (1000 * Math.min(...often)) / Math.max(200, text.split(" ").length);
  };
  // `searchtools.js` takes it in place of its own.
  window.Scorer = {
    score: ([page, title, , , score]) => score + place(page) + (named(title) ? 15 : 0) + Math.min(10, 3 * density(page)),
    objNameMatch: 1,
    objPartialMatch: 0,
    objPrio: { 0: 0, 1: 0, 2: -5 },
    objPrioDefault: 0,
    title: 15,
    partialTitle: 7,
    term: 5,
    partialTerm: 2,
  };
}
