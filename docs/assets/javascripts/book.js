// Names and keyboard access for parts that Material leaves without; runs again on each page that
// instant navigation brings in.
document$.subscribe(() => {
  document.querySelector("[data-md-component=search]")?.setAttribute("aria-label", "Search");

  document.querySelectorAll(".md-code__nav").forEach((nav, i) => {
    nav.setAttribute("aria-label", `Code ${i + 1}`);
  });

  const scrollers =
    ".driftproof-formula, .driftproof-figure, .md-typeset__scrollwrap, .md-typeset pre > code";
  document.querySelectorAll(scrollers).forEach((element) => {
    if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
  });
});
