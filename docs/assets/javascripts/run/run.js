// A block that a reader can change and run. The blocks above it run first, in order, so that it finds
// what it would find on the page; what it prints is compared with what the page has recorded.
const runner = (() => {
  const SHOWN = 8; // differences that are listed
  let ids = 0;
  let session = null; // of the page that is shown: { address, blocks, editors, ran }
  let machine = null; // the worker: { worker, home, ready, busy }

  function element(tag, properties = {}, ...children) {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  }

  // Why nothing can run here, "" if it can.
  function obstacle() {
    if (location.protocol === "file:")
      return "A page that is opened from a folder can start no Python: browsers allow it over HTTP only.";
    if (!self.Worker || !self.WebAssembly) return "This browser is too old to run Python.";
    return "";
  }

  async function started(home) {
    if (machine) return machine.ready;
    const worker = new Worker(new URL("javascripts/run/worker.js", new URL("..", home)));
    const own = (machine = { worker, busy: null });
    own.ready = new Promise((done, failed) => {
      worker.onmessage = ({ data }) => {
        if (data.ready) done();
        else if (data.broken) {
          failed(new Error(data.broken));
          own.busy?.failed(new Error(data.broken));
        } else if (data.idle) own.busy?.done();
        else own.busy?.printed(data);
      };
      worker.onerror = (event) => {
        event.preventDefault();
        failed(new Error(event.message || "the worker did not start"));
      };
    });
    worker.postMessage({ home, modules: new URL("../../modules.json", home).href });
    own.ready.catch(() => stop());
    return own.ready;
  }

  function stop(why = "") {
    machine?.worker.terminate();
    machine?.busy?.failed(new Error(why));
    machine = null;
    if (session) session.ran = [];
  }

  async function opened() {
    const address = new URL("blocks.json", location.href.replace(/[?#].*/, "")).href;
    if (session?.address !== address) {
      if (machine?.busy) stop();
      const answer = await fetch(address);
      if (!answer.ok) throw new Error(`${address} is missing`);
      session = { address, blocks: await answer.json(), editors: new Map(), ran: [] };
    }
    return session;
  }

  // Run a block with its editor's text, and before it those above that have not run as they stand.
  async function run(home, id) {
    const own = session;
    const { blocks, editors } = own;
    const last = blocks.findIndex((block) => block.id === id);
    const steps = blocks.slice(0, last + 1).map((block, place) => {
      const code = editors.get(block.id)?.code.value ?? block.code;
      return { place, code, raises: block.raises };
    });
    const isFresh = own.ran.length > last || own.ran.some((code, i) => code !== steps[i].code);
    if (isFresh || !own.ran.length) own.ran = [];
    const fresh = !own.ran.length;
    const todo = steps.slice(own.ran.length);
    let broken = null;
    await new Promise((done, failed) => {
      const limit = setTimeout(
        () => stop(`Stopped after ${shared.limit} seconds. The next run begins anew.`),
        shared.limit * 1000,
      );
      machine.busy = {
        done,
        failed,
        printed({ place, printed, failed: why }) {
          own.ran.push(steps[place].code);
          editors.get(blocks[place].id)?.show(printed, why);
          if (why) broken = { place, why };
        },
      };
      machine.busy.limit = limit;
      machine.worker.postMessage({ fresh, steps: todo });
    }).finally(() => {
      clearTimeout(machine?.busy?.limit);
      if (machine) machine.busy = null;
    });
    if (broken) own.ran = [];
    if (broken && broken.place !== last) {
      throw new Error(`A block above, “${blocks[broken.place].id}”, failed: ${broken.why}`);
    }
    return todo.filter(({ place }) => place < last && blocks[place].runs).length;
  }

  function verdict(block, printed) {
    if (block.output === null) return ["It ran, and has no output recorded.", []];
    const found = comparer.compare(block.output, printed, block);
    if (!found.length) return ["Same as recorded.", []];
    const count = found.length === 1 ? "One difference" : `${found.length} differences`;
    const lines = found
      .slice(0, SHOWN)
      .map(({ line, recorded, got }) => `Line ${line + 1}: recorded ${recorded || "nothing"}, now ${got || "nothing"}`);
    if (found.length > SHOWN) lines.push(`and ${found.length - SHOWN} more`);
    return [`${count} from what is recorded.`, lines];
  }

  function editor(place, block, home) {
    const title = place.querySelector(".filename")?.textContent || block.id;
    const name = `book-code-${++ids}`;
    const code = element("textarea", {
      id: name,
      value: block.code.replace(/\n$/, ""),
      spellcheck: false,
      rows: block.code.split("\n").length,
    });
    code.setAttribute("autocapitalize", "off");
    const button = (text, press) => element("button", { type: "button", textContent: text, onclick: press });
    const status = element("p", { className: "book-runner__status" });
    status.setAttribute("role", "status");
    const printed = element("code");
    const output = element("pre", { hidden: true, tabIndex: 0 }, printed);
    output.setAttribute("aria-label", `Printed now: ${title}`);
    output.setAttribute("role", "group");
    const list = element("ul", { hidden: true });
    const say = (text) => (status.textContent = text);

    async function press() {
      const why = obstacle();
      if (why) return say(`${why} What is recorded stays below.`);
      if (machine?.busy) return say("Python is busy. Stop it, or wait.");
      start.disabled = true;
      end.disabled = false;
      delete panel.dataset.verdict;
      try {
        if (!machine) say("Loading Python: 9 MB, once …");
        await started(home);
        say("Running …");
        const above = await run(home, block.id);
        if (above) status.append(` ${above === 1 ? "One block" : `${above} blocks`} above ran first.`);
      } catch (error) {
        panel.dataset.verdict = "failed";
        const said = error.message.replace(/^Error: /, "");
        say(/ (?:missing|start)|NetworkError|importScripts|fetch/.test(said)
          ? `Python could not be loaded here (${said}). What is recorded stays below.`
          : said || "Stopped. The next run begins anew.");
      }
      start.disabled = false;
      end.disabled = true;
    }

    const start = button("Run", press);
    const end = button("Stop", () => stop());
    end.disabled = true;
    const reset = button("Reset", () => {
      code.value = block.code.replace(/\n$/, "");
      output.hidden = list.hidden = true;
      say("The code is that of the page again.");
    });
    const close = button("Close", () => {
      session.editors.delete(block.id);
      panel.remove();
      place.classList.remove("book-open");
      place.querySelector(".book-run").focus();
    });
    code.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) press();
      event.stopPropagation(); // the theme has keys of its own
    });
    const panel = element(
      "div",
      { className: "book-runner" },
      element("label", { htmlFor: name, textContent: title }),
      code,
      element("p", { className: "book-runner__keys" }, start, end, reset, close),
      status,
      list,
      output,
    );
    panel.setAttribute("role", "group");
    panel.setAttribute("aria-label", `Run: ${title}`);
    place.append(panel);
    place.classList.add("book-open");
    code.focus();

    function show(text, failed) {
      printed.textContent = text;
      output.hidden = !text;
      const [said, lines] = failed ? [failed, []] : verdict(block, text);
      say(said);
      panel.dataset.verdict = failed ? "failed" : lines.length ? "differs" : "same";
      list.replaceChildren(...lines.map((line) => element("li", { textContent: line })));
      list.hidden = !lines.length;
    }
    return { code, show, press };
  }

  // Open the editor of a block and run it. `home` is the folder of the runtime.
  async function open(place, home) {
    const why = obstacle();
    let own = null;
    try {
      own = why ? null : await opened();
    } catch (error) {
      return explain(place, `Python could not be loaded here (${error.message}).`);
    }
    if (!own) return explain(place, why);
    const block = own.blocks.find(({ id }) => id === place.id);
    own.editors.set(block.id, editor(place, block, home));
    return own.editors.get(block.id).press();
  }

  function explain(place, why) {
    place.querySelector(".book-runner")?.remove();
    const status = element("p", { textContent: `${why} What is recorded stays below.` });
    status.setAttribute("role", "status");
    place.append(element("div", { className: "book-runner" }, status));
  }

  // `limit`: seconds for one press of "Run", the loading of Python aside.
  const shared = { open, limit: 60 };
  return shared;
})();
