// Paths and dotted names in tables may break after their separators, and nowhere else.
window.addEventListener("DOMContentLoaded", () => {
  for (const code of document.querySelectorAll(".bd-article table code span.pre")) {
    const parts = code.textContent.split(/(?<=[/_.(])(?=\w)/);
    code.replaceChildren(...parts.flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part])));
  }
});
