// A Python in the reader's browser, off the page's own thread: it runs blocks and sends back what
// they print. A run that takes too long is ended with the whole worker.
let python;

const AROUND = `
import builtins, contextlib, io, random, sys, traceback, types
import numpy

printing, errors = numpy.get_printoptions(), numpy.geterr()

def begin():
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    random.seed(0)
    numpy.random.seed(0)
    numpy.set_printoptions(**printing)
    numpy.seterr(**errors)

def run(code, raises):
    printed, failed = io.StringIO(), ""
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        try:
            exec(compile(code, "<block>", "exec", dont_inherit=True), sys.modules["__main__"].__dict__)
        except BaseException as error:
            text = error.msg if isinstance(error, SyntaxError) else str(error)
            said = f"{type(error).__name__}: {text}"
            if raises and type(error).__name__ == raises.split(".")[-1]:
                print(said)
            else:
                frames = traceback.extract_tb(error.__traceback__)
                lines = [frame.lineno for frame in frames if frame.filename == "<block>"]
                line = error.lineno if isinstance(error, SyntaxError) else (lines or [0])[-1]
                failed = f"line {line}: {said}"
        else:
            if raises:
                failed = f"{raises} was expected, and nothing was raised"
    return printed.getvalue(), failed
`;

// What was fetched once is kept, where the browser lets a page keep files. Pyodide checks the wheel
// against the hash in its lock file; of a file that does not arrive it says nothing.
async function keeping(home) {
  const ask = self.fetch.bind(self);
  const kept = await self.caches?.open(home).catch(() => undefined);
  self.fetch = async (address, options) => {
    const known = await kept?.match(address);
    if (known) return known;
    const answer = await ask(address, options).catch(() => ({ ok: false }));
    if (!answer.ok) self.postMessage({ broken: `${address} is missing` });
    else await kept?.put(address, answer.clone());
    return answer;
  };
}

async function start({ home, modules }) {
  const fetched = await fetch(modules);
  if (!fetched.ok) throw new Error(`${modules} is missing`);
  const sources = await fetched.json();
  await keeping(home);
  importScripts(`${home}pyodide.js`);
  python = await loadPyodide({ indexURL: home });
  await python.loadPackage("numpy", { messageCallback() {} });
  for (const [path, text] of Object.entries(sources)) {
    const file = `/home/pyodide/${path}`;
    python.FS.mkdirTree(file.replace(/\/[^/]*$/, ""));
    python.FS.writeFile(file, text);
  }
  python.runPython(AROUND);
  // From here on nothing that runs can ask anyone for anything.
  for (const name of ["fetch", "XMLHttpRequest", "WebSocket", "EventSource", "importScripts"]) {
    self[name] = undefined;
  }
}

function run({ fresh, steps }) {
  if (fresh) python.runPython("begin()");
  const call = python.globals.get("run");
  for (const { place, code, raises } of steps) {
    const answer = call(code, raises);
    const [printed, failed] = answer.toJs();
    answer.destroy();
    self.postMessage({ place, printed, failed });
    if (failed) break;
  }
  call.destroy();
  self.postMessage({ idle: true });
}

self.onmessage = async ({ data }) => {
  try {
    if (data.home) {
      await start(data);
      self.postMessage({ ready: true });
    } else run(data);
  } catch (error) {
    self.postMessage({ broken: String(error) });
  }
};
