// What the theme leaves out for readers who use a keyboard or a screen reader: a name for the search, and focus for what scrolls.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  for (const area of document.querySelectorAll(".md-typeset pre > code, .md-typeset__scrollwrap, .md-typeset table:not([class])")) {
    area.setAttribute("tabindex", "0");
  }
});
