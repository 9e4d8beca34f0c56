// A formula that is wider than its place: in the text it gets a line of its own, and on a narrow
// window all formulas shrink, down to what can still be read. What is wider yet scrolls. No line
// begins with the full stop after a formula, or ends with the parenthesis before one.
(() => {
  const SMALLEST = 0.55;
  const NARROW = 700;
  const MARKS = 12;
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
  const beside = (place, pattern) =>
    place?.nodeType === Node.TEXT_NODE ? (place.data.match(pattern)?.[0] ?? "") : "";
  const keep = () => {
    for (const formula of document.querySelectorAll(".bd-article span.math")) {
      const before = beside(formula.previousSibling, /[([“‘]+$/);
      const after = beside(formula.nextSibling, /^[.,;:!?)\]”’]+/);
      if (!before && !after) continue;
      if (before) formula.previousSibling.data = formula.previousSibling.data.slice(0, -before.length);
      if (after) formula.nextSibling.data = formula.nextSibling.data.slice(after.length);
      const together = document.createElement("span");
      together.className = "with-marks";
      formula.replaceWith(together);
      together.append(before, formula, after);
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
      const marks = formula.closest(".with-marks") ? MARKS : 0;
      const room = formula.closest("p, li, td, th, dd, dt, div, section")?.clientWidth - marks;
      if (room && width(formula) > room) {
        formula.classList.add("wide-formula");
        shrink(formula, room);
      }
    }
  };
  window.addEventListener("load", () => {
    const ready = window.MathJax?.startup?.promise ?? Promise.resolve();
    ready.then(keep).then(mark);
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
