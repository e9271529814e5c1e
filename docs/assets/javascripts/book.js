// Runs on each page that instant navigation brings in. From a folder there is one page, and Material's
// document$ ends there before it has said so.
const onEachPage = (run) => (location.protocol === "file:" ? run() : document$.subscribe(run));

// Names and keyboard access for parts that Material leaves without.
onEachPage(() => {
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

// On a narrow page, menu and search open by a label for a box that no key reaches: a button does.
document$.subscribe(() => {
  for (const [name, title] of [["drawer", "Navigation"], ["search", "Search"]]) {
    const label = document.querySelector(`label.md-header__button[for=__${name}]`);
    if (!label) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = label.className;
    button.setAttribute("for", `__${name}`); // by which the theme finds it
    button.setAttribute("aria-label", title);
    button.innerHTML = label.innerHTML;
    button.addEventListener("click", () => {
      if (name === "search") document.querySelector(".md-search__input").focus();
      else document.getElementById("__drawer").click();
    });
    label.replaceWith(button);
  }
});

// A bound number shows its full value and a link to the block behind it, and a term its meaning:
// under the mouse, with the focus, and where it is tapped. Without this script they are links.
(() => {
  let shown = null; // { data, link, note, title }
  let timer = 0;
  let pointer = "mouse";

  const bound = (target) =>
    shown?.note.contains(target)
      ? shown.data
      : target.closest?.("data.driftproof-bound, a.driftproof-term") ?? null;

  function element(tag, text) {
    const node = document.createElement(tag);
    node.textContent = text;
    return node;
  }

  function place() {
    if (!shown) return;
    const { link, note } = shown;
    const number = link.getClientRects()[0];
    if (!number) return hide();
    const widest = document.documentElement.clientWidth - note.offsetWidth - 8;
    const fits = number.bottom + note.offsetHeight <= window.innerHeight;
    note.style.left = `${Math.max(8, Math.min(number.left, widest))}px`;
    note.style.top = `${fits ? number.bottom : number.top - note.offsetHeight}px`;
  }

  function show(data) {
    hide();
    const term = data.ariaDescription ?? data.getAttribute("aria-description");
    const link = term ? data : data.querySelector("a");
    if (!link) return;
    const title = link.title;
    const note = element("span", "");
    note.className = "driftproof-value";
    note.popover = "manual";
    const value = element("strong", term ? link.textContent : data.value);
    value.id = "driftproof-value";
    const behind = term ? element("span", term) : element("code", title.replace(` = ${data.value}`, ""));
    // The number itself is the same link, so the keyboard need not stop here again.
    const way = element("a", term ? "Read on in the glossary" : "Go to the block behind it");
    way.href = link.href;
    way.tabIndex = -1;
    note.append(value, behind, way);
    link.after(note);
    if (!term) link.setAttribute("aria-describedby", value.id);
    link.removeAttribute("title"); // or the browser would show it too
    shown = { data, link, note, title };
    note.showPopover?.(); // above all else, and clipped by nothing
    place();
  }

  function hide() {
    clearTimeout(timer);
    if (!shown) return;
    if (shown.title) shown.link.title = shown.title;
    shown.link.removeAttribute("aria-describedby");
    shown.note.remove();
    shown = null;
  }

  document.addEventListener("pointerdown", (event) => (pointer = event.pointerType), true);

  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const data = bound(event.target);
    clearTimeout(timer);
    if (data === (shown && shown.data)) return;
    if (data) timer = setTimeout(show, 120, data);
    else if (!shown?.data.contains(document.activeElement)) timer = setTimeout(hide, 250);
  });

  document.addEventListener("focusin", (event) => {
    const data = bound(event.target);
    if (!data) hide();
    else if (data !== shown?.data && event.target.matches(":focus-visible")) show(data);
  });

  // Before Material's own listener, which would follow the link. Enter makes a click without detail.
  document.addEventListener(
    "click",
    (event) => {
      const data = bound(event.target);
      const isTap = data && event.detail && pointer !== "mouse";
      if (!isTap || shown?.note.contains(event.target)) {
        setTimeout(hide);
        return;
      }
      event.preventDefault();
      event.stopPropagation();
      if (data === shown?.data) hide();
      else show(data);
    },
    true,
  );

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  document.addEventListener("scroll", place, { capture: true, passive: true });
  window.addEventListener("resize", place);
  onEachPage(hide);
})();

// Figures that answer: their scripts are loaded where a page holds one, and draw what it recorded.
{
  const folder = document.currentScript.src.replace(/[^/]*$/, "widgets/");
  const loading = {};

  const loaded = (name) =>
    (loading[name] ??= new Promise((done, failed) => {
      const isStyle = name.endsWith(".css");
      const part = document.createElement(isStyle ? "link" : "script");
      Object.assign(part, isStyle ? { rel: "stylesheet", href: folder + name } : { src: folder + name, async: false });
      Object.assign(part, { onload: done, onerror: failed });
      document.head.append(part);
    }));

  onEachPage(() => {
    document.querySelectorAll("[data-widget]").forEach(async (figure) => {
      const { widget, values } = figure.dataset;
      await Promise.all(["plot.css", "plot.js", `${widget}.js`].map(loaded));
      if (!("live" in figure.dataset)) oneHop[widget].mount(figure, JSON.parse(values));
    });
  });
}
