// A formula in the text that is wider than its paragraph gets a line of its own, which scrolls.
(() => {
  const mark = () => {
    for (const formula of document.querySelectorAll('mjx-container:not([display="true"])')) {
      formula.classList.remove("wide-formula");
      const svg = formula.querySelector("svg");
      const room = formula.closest("p, li, td, th, dd, dt, div, section")?.clientWidth;
      if (svg && room && svg.getBoundingClientRect().width > room) {
        formula.classList.add("wide-formula");
      }
    }
  };
  window.addEventListener("load", () => {
    const ready = window.MathJax?.startup?.promise ?? Promise.resolve();
    ready.then(mark);
    window.addEventListener("resize", mark);
  });
})();
// Extracts that the search shows have no room for formulas.
window.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return;
  const read = Search.htmlToText;
  Search.htmlToText = (html, anchor) =>
    read(html.replace(/\\\([\s\S]*?\\\)|\\\[[\s\S]*?\\\]/g, "…"), anchor);
});
