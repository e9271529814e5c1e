"""A served book: there at once, verified in the background, never stuck, never looping."""

import dataclasses
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from driftproof.check import check

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc")
PATIENCE = 20
GATED = """\
# Gated

```python
import os, time
while not os.path.exists({gate!r}):
    time.sleep(0.02)
print("after the gate")
```

```output
after the gate
```
"""
DECAY = """\
# Decay

```python
from decay import left
open({count!r}, "a").write("decay ")
print(f"{{left(26):.4f}}")
```

```output
0.0646
```
"""
OTHER = """\
# Other

```python
open({count!r}, "a").write("other ")
print("unrelated 1.5")
```

```output
unrelated 1.5
```
"""


SAVES = """\
from pathlib import Path

def on_files(files, config):
    save = Path({save!r})
    if save.exists():
        Path("docs/other.md").write_text(save.read_text())
        save.unlink()
"""


class Server:
    """`mkdocs serve` in a project, on a free port."""

    def __init__(self, book):
        self.book, self.log = book, book.root / "serve.log"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.at = f"127.0.0.1:{free.getsockname()[1]}"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mkdocs", "serve", "-a", self.at],
                cwd=book.root,
                env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "MARK": str(book.root)},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def get(self, path):
        with urllib.request.urlopen(f"http://{self.at}{path}", timeout=5) as answer:
            return answer.read().decode()

    def status(self, path):
        return json.loads(self.get(f"{path}driftproof-status.json"))

    def until(self, condition):
        """Wait until `condition()` is true, or holds something; return that."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                if found := condition():
                    return found
            except (urllib.error.URLError, ConnectionError):
                assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.05)
        raise AssertionError(f"not within {PATIENCE} s:\n{self.log.read_text()}")

    def settles(self, path, state):
        """Wait until a page is in a state; return its problems."""
        return self.until(
            lambda: (now := self.status(path))["state"] == state and (now["problems"] or [""])
        )

    def settled(self, path):
        """Wait until a page has been compared; return its problems."""
        now = {}
        self.until(lambda: now.update(self.status(path)) or now["state"] in ("agreed", "problems"))
        return now["problems"]

    def builds(self):
        return self.log.read_text().count("Building documentation...")

    def edit(self, path, text):
        """Save a file, and wait until the server has built the site anew."""
        builds = self.builds()
        self.book.write(path, text)
        self.until(lambda: self.builds() > builds)

    def stop(self, how=signal.SIGINT):
        self.process.send_signal(how)
        self.process.wait(PATIENCE)


def processes(mark):
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


@pytest.fixture(scope="module")
def outside(new_outside):
    return new_outside()


@pytest.fixture(scope="module")
def served(new_project, outside):
    """A served book of three pages, of which one waits for a gate to be opened."""
    book = new_project()
    book.configure(variables=["MARK"])
    book.add_site()
    book.write("saves.py", SAVES.format(save=str(outside / "save")))
    book.write("mkdocs.yml", book.read("mkdocs.yml") + "hooks: [saves.py]\n")
    book.write("src/constants.py", "FACTOR = 0.9\n")
    book.write(
        "src/decay.py", "import constants\n\n\ndef left(n):\n    return constants.FACTOR**n\n"
    )
    book.write("docs/index.md", GATED.format(gate=str(outside / "gate")))
    book.write("docs/decay.md", DECAY.format(count=str(outside / "count")))
    book.write("docs/other.md", OTHER.format(count=str(outside / "count")))
    server = Server(book)
    yield server
    if server.process.poll() is None:
        server.stop(signal.SIGKILL)


@pytest.fixture(autouse=True)
def _restored(served):
    """Put back what a test has edited, for the tests after it."""
    folders = (served.book.root / name for name in ("docs", "src"))
    before = {path: path.read_text() for folder in folders for path in folder.iterdir()}
    yield
    for path, text in before.items():
        if path.read_text() != text:
            served.edit(path.relative_to(served.book.root).as_posix(), text)


def ran(outside):
    """Return which blocks ran since it was last asked."""
    count = outside / "count"
    words = count.read_text().split() if count.exists() else []
    count.write_text("")
    return sorted(words)


# These tests share the server and follow one another, as an author's edits do.


def test_the_site_is_up_before_its_blocks_have_run(served, outside):
    html = served.until(lambda: served.get("/"))
    assert "after the gate" in html
    assert "<span>recorded, being verified</span>" in html
    assert "checking" == served.status("/")["state"]
    assert not (outside / "gate").exists()
    (outside / "gate").touch()
    for path in ("/", "/decay/", "/other/"):
        served.settles(path, "agreed")
    assert served.status("/")["stamps"]["output-1"].startswith("ran in this build on ")
    assert ["decay", "other"] == ran(outside)
    assert "3 blocks expected, 3 ran, 0 from cache, 3 agreed" in served.log.read_text()


def test_served_pages_ask_for_their_state(served):
    assert '<script src="driftproof-serve.js" data-driftproof-status=' in served.get("/decay/")
    assert "driftproof-banner" in served.get("/decay/driftproof-serve.js")
    assert "unknown" == served.status("/nowhere/")["state"]


def test_nothing_is_built_while_nothing_is_edited(served):
    builds = served.builds()
    time.sleep(2.5)
    assert builds == served.builds()


def test_an_edit_to_prose_builds_once_and_runs_nothing(served, outside):
    builds = served.builds()
    served.edit("docs/other.md", served.book.read("docs/other.md") + "\nMore words.\n")
    served.until(lambda: "More words." in served.get("/other/"))
    served.settles("/other/", "agreed")
    time.sleep(1.5)
    assert builds + 1 == served.builds()
    assert [] == ran(outside)


def test_drift_is_shown_and_gone_after_the_fix(served, outside):
    text = served.book.read("docs/other.md")
    served.edit("docs/other.md", text.replace("unrelated 1.5\n```", "unrelated 2.5\n```"))
    (problem,) = served.settles("/other/", "problems")
    assert ("docs/other.md:9", "block-1") == (problem["where"], problem["anchor"])
    assert ["recorded: 2.5", "printed:  1.5"] == problem["detail"]
    served.settles("/decay/", "agreed")
    served.edit("docs/other.md", text)
    served.settles("/other/", "agreed")
    assert [] == ran(outside)


def test_an_edit_to_a_module_reaches_the_pages_that_import_it(served, outside):
    ran(outside)
    builds = served.builds()
    served.edit("src/constants.py", "FACTOR = 0.8\n")
    (problem,) = served.settles("/decay/", "problems")
    assert ["recorded: 0.0646", "printed:  0.0030"] == problem["detail"]
    served.settles("/other/", "agreed")
    assert ["decay"] == ran(outside)
    time.sleep(1.5)
    assert builds + 1 == served.builds()
    served.edit("src/constants.py", "FACTOR = 0.9\n")
    served.settles("/decay/", "agreed")


def test_a_syntax_error_in_a_module_is_shown_and_gone_after_the_fix(served):
    good = served.book.read("src/decay.py")
    served.edit("src/decay.py", good + "def broken(:\n")
    (problem,) = served.settles("/decay/", "problems")
    assert "SyntaxError" in problem["message"]
    assert any(line.startswith("src/decay.py:6: ") for line in problem["detail"])
    served.edit("src/decay.py", good)
    served.settles("/decay/", "agreed")


def test_an_error_in_a_block_is_shown_and_never_on_the_page(served):
    text = served.book.read("docs/other.md")
    served.edit("docs/other.md", text.replace("print(", "1 / 0\nprint("))
    (problem,) = served.settles("/other/", "problems")
    assert "docs/other.md:5" == problem["where"]
    assert "ZeroDivisionError" not in served.get("/other/")
    assert "unrelated 1.5" in served.get("/other/")
    served.edit("docs/other.md", text)
    served.settles("/other/", "agreed")


@pytest.mark.parametrize(
    "damage",
    [
        "\n```python\nnever = closed\n",
        "\n```python exec=off\nx = 1\n```\n",
        "\n$\\frac{1}$\n",
        '\n--8<-- "missing.md"\n',
    ],
    ids=["unclosed", "option", "formula", "include"],
)
def test_a_page_that_is_not_of_the_grammar_is_still_served(served, damage):
    text = served.book.read("docs/other.md")
    served.edit("docs/other.md", text + damage)
    assert served.settles("/other/", "problems")
    assert "unrelated 1.5" in served.get("/other/")
    served.edit("docs/other.md", text)
    served.settles("/other/", "agreed")


def test_a_dead_link_is_told_and_the_site_stays(served):
    text = served.book.read("docs/other.md")
    served.edit("docs/other.md", text + "\n[dead](missing.md)\n")
    served.until(lambda: "docs/other.md:12: a link 'missing.md'" in served.log.read_text())
    assert "dead" in served.get("/other/")
    served.edit("docs/other.md", text)
    served.settles("/other/", "agreed")


def test_a_block_that_writes_into_the_docs_is_refused_and_does_not_loop(served):
    text = served.book.read("docs/other.md")
    write = "from pathlib import Path\nPath('docs/log.txt').open('a').write('built')\nprint("
    served.edit("docs/other.md", text.replace("print(", write))
    (problem,) = served.settles("/other/", "problems")
    assert "cannot change docs/log.txt in the project" in problem["message"]
    builds = served.builds()
    time.sleep(2.5)
    assert builds == served.builds()
    assert not (served.book.root / "docs/log.txt").exists()
    served.edit("docs/other.md", text)
    served.settles("/other/", "agreed")


def test_a_page_saved_while_the_site_is_built_does_not_stop_it(served, outside):
    text = served.book.read("docs/other.md")
    (outside / "save").write_text(f"# Saved\n\n{text}")
    served.edit("docs/decay.md", served.book.read("docs/decay.md") + "\nMore.\n")
    served.until(lambda: "Saved" in served.get("/other/"))
    served.settles("/other/", "agreed")
    served.edit("docs/other.md", text)
    served.settles("/other/", "agreed")
    assert "the text that is rendered is not that of the file" not in served.log.read_text()


def test_a_page_that_comes_and_goes_is_served_and_forgotten(served):
    served.edit("docs/new.md", "# New\n\n```python\nprint(2.5)\n```\n\n```output\n2.5\n```\n")
    served.settles("/new/", "agreed")
    builds = served.builds()
    (served.book.root / "docs/new.md").unlink()
    served.until(lambda: served.builds() > builds)
    served.settles("/other/", "agreed")
    served.until(lambda: served.status("/new/")["state"] == "unknown")


def test_what_an_edit_has_made_stale_does_not_begin(served, outside):
    assert "unknown" == served.status("/nowhere/")["state"]  # so no page is viewed, and first
    begun = f'open({str(outside / "begun")!r}, "a")\nwhile'
    slow = GATED.format(gate=str(outside / "second-gate")).replace("while", begun)
    for number in range((os.cpu_count() or 1) + 1):
        served.book.write(f"docs/a{number}.md", slow)
    last = OTHER.format(count=str(outside / "count"))
    served.book.write("docs/z.md", last.replace('"other ', '"stale '))
    served.until((outside / "begun").exists)
    ran(outside)
    served.edit("docs/z.md", last.replace('"other ', '"fresh '))
    served.until(lambda: "fresh" in served.get("/z/"))
    (outside / "second-gate").touch()
    served.settles("/z/", "agreed")
    served.settles("/a0/", "agreed")
    assert ["fresh"] == ran(outside)


SLOW = """\
# Slow

```python
import time
time.sleep(0.15)
open({count!r}, "a").write("first ")
print("slow")
```

```output
slow
```

```python
open({count!r}, "a").write("last ")
print({last})
```

```output
{shown}
```
"""


def test_an_edit_to_the_last_block_of_a_slow_page_runs_that_block(served, outside):
    slow = {"count": str(outside / "count")}
    served.edit("docs/slow.md", SLOW.format(**slow, last=1, shown=1))
    served.settles("/slow/", "agreed")
    assert ["first", "last"] == ran(outside)
    for number in (2, 3):
        served.edit("docs/slow.md", SLOW.format(**slow, last=number, shown=number))
        served.until(lambda n=number: f"\n{n}\n" in served.get("/slow.md"))
        served.settles("/slow/", "agreed")
        assert ["last"] == ran(outside)
    served.edit("docs/slow.md", SLOW.format(**slow, last=3, shown=4))
    (problem,) = served.settles("/slow/", "problems")
    assert ["recorded: 4", "printed:  3"] == problem["detail"]
    assert [] == ran(outside)


def test_no_page_is_said_to_agree_once_a_file_behind_it_is_newer(served):
    good, text = served.book.read("src/constants.py"), served.book.read("docs/decay.md")
    for path, old, new in (
        ("src/constants.py", good, "FACTOR = 0.8\n"),
        ("docs/decay.md", text, text.replace("0.0646\n```", "0.0647\n```")),
    ):
        served.settles("/decay/", "agreed")
        served.settles("/other/", "agreed")
        served.book.write(path, new)
        seen = {"/decay/": set(), "/other/": set()}
        while "problems" not in seen["/decay/"]:
            for page, states in seen.items():
                states.add(served.status(page)["state"])
        assert {"checking", "problems"} == seen["/decay/"] | {"checking"}
        assert {"agreed"} == seen["/other/"]  # nothing behind it has changed
        served.edit(path, old)
    served.settles("/decay/", "agreed")


def test_blocks_that_agree_already_are_told_while_the_page_runs(served, outside):
    gate = GATED.format(gate=str(outside / "third-gate")).partition("\n\n")[2]
    text = SLOW.format(count=str(outside / "count"), last=1, shown=1)
    served.edit("docs/long.md", text + gate)
    stamps = served.until(lambda: served.status("/long/").get("stamps"))
    assert {"output-1", "output-2"} >= set(stamps)
    assert stamps["output-1"].startswith("ran in this build on ")
    assert "checking" == served.status("/long/")["state"]
    (outside / "third-gate").touch()
    served.settles("/long/", "agreed")


def test_the_page_that_the_author_turns_to_comes_first(served, outside):
    ran(outside)
    gates = [outside / f"gate-{number}" for number in range(os.cpu_count() or 1)]
    for number, gate in enumerate(gates):
        begun = f'open({str(outside / f"g{number}")!r}, "w")\nwhile'
        slow = GATED.format(gate=str(gate)).replace("while", begun)
        served.book.write(f"docs/g{number}.md", slow)
    served.until(lambda: all((outside / f"g{number}").exists() for number in range(len(gates))))
    last = OTHER.format(count=str(outside / "count"))
    for name in ("h", "i", "j"):
        served.book.write(f"docs/{name}.md", last.replace('"other ', f'"{name} '))
    for page in ("/j/", "/i/", "/h/"):
        served.until(lambda path=page: "checking" == served.status(path)["state"])
    assert [] == ran(outside)
    served.status("/j/")
    gates[0].touch()
    served.until(lambda: len((outside / "count").read_text().split()) == 3)
    assert "j" == (outside / "count").read_text().split()[0]
    for gate in gates:
        gate.touch()
    served.settles("/g0/", "agreed")


def test_ctrl_c_ends_what_runs_and_what_waits(served, outside):
    forever = "import subprocess, time\nsubprocess.Popen(['sleep', '60'])\ntime.sleep(60)"
    for name in "abcdef":
        served.book.write(f"docs/{name}.md", f"```python\n{forever}\n```\n")
    served.until(lambda: any("sleep 60" in line for line in processes(str(served.book.root))))
    began = time.monotonic()
    served.stop()
    assert 10 > time.monotonic() - began
    served.until(lambda: not processes(str(served.book.root)))
    assert "Traceback" not in served.log.read_text().partition("Shutting down")[2]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_ends_takes_its_checkpoints_along(
    project, new_outside, tmp_path_factory, monkeypatch, how
):
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setenv("TMPDIR", str(folder))
    project.configure(variables=["MARK"])
    project.add_site()
    project.write("docs/index.md", SLOW.format(count=str(new_outside() / "count"), last=1, shown=1))
    mark = str(project.root)
    server = Server(project)
    server.settles("/", "agreed")
    assert len(processes(mark)) >= 5  # the server, those of multiprocessing, two copies
    server.stop(how)
    server.until(lambda: not processes(mark))
    if how != signal.SIGKILL:
        assert [] == list(folder.glob("driftproof-*"))


PIECES = (
    "x = x + [len(x)]",
    "print(x, random.random())",
    "import helper\nprint(helper.VALUE)",
    "print(open('docs/data.txt').read())",
    "import time\ntime.sleep(0.12)",
    "open('left.txt', 'w').write('x')",
    "x[9]",
)


def page_of(blocks, choose):
    fences = (
        f"```python\n{code}\n```\n\n```output\n{choose.choice('0123')}\n```\n\n" for code in blocks
    )
    return (
        f'# Page\n\n{"".join(fences)}Bound: <data value="len(x)">{choose.choice("123")}</data>.\n'
    )


def test_whatever_is_edited_a_served_page_says_what_a_check_from_nothing_says(project):
    choose = random.Random(0)
    project.add_site()
    project.write("docs/index.md", "# Home\n")
    project.write("docs/data.txt", "0")
    project.write("src/helper.py", "VALUE = 0\n")
    pages = {f"docs/{name}.md": ["import random\nx = [1]", *PIECES[:3]] for name in "ab"}
    for path, blocks in pages.items():
        project.write(path, page_of(blocks, choose))
    server = Server(project)
    try:
        for number in range(25):
            said = {path: server.settled(f"/{Path(path).stem}/") for path in pages}
            report = check(dataclasses.replace(project.config, cache=f"../cold-{number}"))
            for path, result in report.results.items():
                found = [(p.message, list(p.detail)) for p in result.problems]
                told = [(p["message"], p["detail"]) for p in said.get(path, [])]
                assert sorted(found) == sorted(told), (number, path)
            path, place = choose.choice([*pages]), choose.randrange(1, 4)
            match choose.randrange(5):
                case 0:
                    project.write("src/helper.py", f"VALUE = {number}\n")
                case 1:
                    project.write("docs/data.txt", f"{number}")
                case _:
                    pages[path][place] = choose.choice(PIECES)
                    project.write(path, page_of(pages[path], choose))
    finally:
        server.stop()
