// A formula that is wider than its place: in the text it gets a line of its own, and on a narrow
// window all formulas shrink, down to what can still be read. What is wider yet scrolls.
(() => {
  const SMALLEST = 0.55;
  const NARROW = 700;
  const width = (formula) => formula.querySelector("svg")?.getBoundingClientRect().width ?? 0;
  const shrink = (formula, room) => {
    if (window.innerWidth >= NARROW || !room) return;
    const size = parseFloat(getComputedStyle(formula).fontSize);
    // A unit of width is a rounded one, so that one step does not do.
    for (let share = 1; share > SMALLEST && width(formula) > room; ) {
      share = Math.max(SMALLEST, Math.min(0.95 * share, (share * room) / width(formula)));
      formula.style.fontSize = `${size * share}px`;
    }
  };
  const mark = () => {
    for (const formula of document.querySelectorAll("mjx-container")) {
      formula.classList.remove("wide-formula");
      formula.style.fontSize = "";
      if (formula.getAttribute("display") === "true") {
        shrink(formula, formula.clientWidth);
        continue;
      }
      const room = formula.closest("p, li, td, th, dd, dt, div, section")?.clientWidth;
      if (room && width(formula) > room) {
        formula.classList.add("wide-formula");
        shrink(formula, room);
      }
    }
  };
  window.addEventListener("load", () => {
    const ready = window.MathJax?.startup?.promise ?? Promise.resolve();
    ready.then(mark);
    window.addEventListener("resize", mark);
    // What is folded has no width until it is opened.
    document.addEventListener("toggle", mark, true);
  });
})();
// Extracts that the search shows have no room for formulas.
window.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return;
  const read = Search.htmlToText;
  Search.htmlToText = (html, anchor) =>
    read(html.replace(/\\\([\s\S]*?\\\)|\\\[[\s\S]*?\\\]/g, "…"), anchor);
});
