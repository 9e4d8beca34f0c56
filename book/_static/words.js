// Paths and dotted names may break after their separators, and nowhere else: in tables always, in
// the text on a narrow window alone (see book.css).
window.addEventListener("DOMContentLoaded", () => {
  for (const code of document.querySelectorAll(".bd-article code span.pre")) {
    const parts = code.textContent.split(/(?<=[/_.(])(?=\w)/);
    if (parts.length < 2) continue;
    code.replaceChildren(...parts.flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part])));
  }
});
