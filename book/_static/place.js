// The column of pages begins at the page that is open, not at the top of the book.
window.addEventListener("load", () => {
  const column = document.querySelector(".bd-sidebar-primary");
  const page = column?.querySelector("li.current > a.current");
  if (!page) return;
  const below = page.getBoundingClientRect().top - column.getBoundingClientRect().top;
  // The theme begins where the last page was left.
  if (below < 0 || below > 0.9 * column.clientHeight) column.scrollTop += below - 0.4 * column.clientHeight;
});
