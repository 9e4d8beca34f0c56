// Paths and dotted names may break after their separators, and nowhere else: in tables always, in
// the text on a narrow window alone (see book.css). Flags, and numbers such as 1e-9, do not break.
window.addEventListener("DOMContentLoaded", () => {
  const FLAG = /^["']?--?\w[\w-]{0,16}["']?$/;
  const NUMBER = /\d(?:\.\d+)?e-\d+/g;
  const whole = (text) => {
    const span = document.createElement("span");
    span.className = "whole-word";
    span.append(text);
    return span;
  };
  for (const code of document.querySelectorAll(".bd-article code span.pre")) {
    if (FLAG.test(code.textContent)) {
      code.classList.add("whole-word");
      continue;
    }
    const parts = code.textContent.split(/(?<=\w[/_.(]+)(?=\w)/);
    if (parts.length < 2) continue;
    code.replaceChildren(...parts.flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part])));
  }
  const article = document.querySelector(".bd-article");
  const texts = article ? document.createTreeWalker(article, NodeFilter.SHOW_TEXT) : null;
  const found = [];
  while (texts?.nextNode()) {
    const text = texts.currentNode;
    if (NUMBER.test(text.data) && !text.parentElement.closest("pre, code, script, .math")) found.push(text);
    NUMBER.lastIndex = 0;
  }
  for (const text of found) {
    const parts = text.data.split(/(\d(?:\.\d+)?e-\d+)/);
    text.replaceWith(...parts.map((part, i) => (i % 2 ? whole(part) : part)));
  }
});
