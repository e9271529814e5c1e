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

// What only some pages need, and some readers: loaded where it is.
const assets = document.currentScript.src.replace(/[^/]*$/, "");
const loading = {};

const loaded = (name) =>
  (loading[name] ??= new Promise((done, failed) => {
    const isStyle = name.endsWith(".css");
    const part = document.createElement(isStyle ? "link" : "script");
    Object.assign(part, isStyle ? { rel: "stylesheet", href: assets + name } : { src: assets + name, async: false });
    Object.assign(part, { onload: done, onerror: failed });
    document.head.append(part);
  }));

// Figures that answer: their scripts are loaded where a page holds one, and draw what it recorded.
onEachPage(() => {
  document.querySelectorAll("[data-widget]").forEach(async (figure) => {
    const { widget, values } = figure.dataset;
    await Promise.all(["plot.css", "plot.js", `${widget}.js`].map((name) => loaded(`widgets/${name}`)));
    if (!("live" in figure.dataset)) oneHop[widget].mount(figure, JSON.parse(values));
  });
});

// A block that the browser can run has a button, where the site has a Python for it; other blocks have
// a link to the page's notebook, where there is one. Nothing is loaded before the button is pressed.
{
  const python = document.querySelector("meta[name=python]")?.content;
  const home = python && new URL(`../${python}/`, assets).href;

  onEachPage(() => {
    const notebook = document.querySelector('.downloads a[href$=".ipynb"]');
    document.querySelectorAll(".driftproof-block").forEach((block) => {
      if (block.querySelector(".book-run")) return;
      const runs = home && "runs" in block.dataset;
      if (!runs && !notebook) return;
      const way = document.createElement(runs ? "button" : "a");
      way.className = "book-run";
      way.textContent = runs ? "Run / edit" : "Open as notebook";
      if (!runs) Object.assign(way, { href: notebook.href, download: "" });
      else {
        way.type = "button";
        way.addEventListener("click", async () => {
          await Promise.all(["run.css", "compare.js", "run.js"].map((name) => loaded(`run/${name}`)));
          await runner.open(block, home);
        });
      }
      block.append(way);
    });
  });
}

// Where a folded answer was computed, a box in front of it takes the reader's own: its numbers are
// looked for among those that the answer has recorded.
onEachPage(() => {
  document.querySelectorAll("details.success:has(.driftproof-output)").forEach((answer, i) => {
    if (answer.firstElementChild.textContent !== "Answer") return;
    if (answer.previousElementSibling?.matches(".book-answer")) return;
    const form = document.createElement("form");
    form.className = "book-answer";
    form.innerHTML =
      `<label for="book-answer-${i}">Your answer</label> <input id="book-answer-${i}" autocomplete="off">` +
      ' <button>Check</button> <span role="status"></span>';
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      await loaded("run/compare.js");
      const say = (text) => (form.lastElementChild.textContent = text);
      const typed = form.querySelector("input").value;
      const cells = ".driftproof-output :is(td, code), .driftproof-bound";
      const recorded = [...answer.querySelectorAll(cells)].map((part) => part.textContent).join("\n");
      const strangers = comparer.strangers(recorded, typed).map((number) => number.text);
      if (!comparer.findNumbers(typed).length) say("Type a number, or several.");
      else if (strangers.length) say(`Not in the recorded answer: ${strangers.join(", ")}.`);
      else say("Agrees with the recorded answer.");
    });
    answer.before(form);
  });
});
