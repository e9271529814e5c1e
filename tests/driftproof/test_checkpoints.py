"""A page goes on from where it was last the same, and nobody can tell that it did."""

import dataclasses
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from driftproof import checkpoints, family, runner
from driftproof.checkpoints import Checkpoints

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="copies are made on Linux")


def page(*blocks):
    return "".join(f"```python\n{block}\n```\n\n" for block in blocks)


class Book:
    """A page that runs with checkpoints, and a count of the blocks that ran."""

    def __init__(self, project, outside):
        self.project, self.copies = project, Checkpoints()
        self.trace = outside / "trace"

    def counted(self, code):
        return f"open({str(self.trace)!r}, 'a').write('x')\n{code}"

    def run(self, text, *expressions):
        """Run a page; return its run and how many of its counted blocks ran."""
        self.trace.write_text("")
        parsed = self.project.parse(text)
        run = self.copies.run(self.project.config, parsed, list(expressions))
        return run, len(self.trace.read_text())

    def same(self, text, *expressions):
        """Run a page both ways, and return the run, which is the same; and what ran of it."""
        run, count = self.run(text, *expressions)
        parsed = self.project.parse(text)
        assert plain(runner.run(self.project.config, parsed, list(expressions))) == plain(run)
        return run, count

    def depth(self, *blocks):
        return self.copies.depth(self.project.config, self.project.parse(page(*blocks)))


def plain(run):
    return dataclasses.asdict(dataclasses.replace(run, seconds={}))


@pytest.fixture
def book(project, new_outside, monkeypatch):
    monkeypatch.setattr(checkpoints, "_WORTH", 0.0)
    made = Book(project, new_outside())
    yield made
    made.copies.close()


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


def waits_until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
    return True


# What runs.

FOUR = ("a = [1]\nprint(a)", "a += [2]\nprint(a)", "a += [3]\nprint(a)", "a += [4]\nprint(a)")


@pytest.mark.parametrize("place", range(4))
def test_an_edit_runs_the_blocks_from_there_on(book, place):
    blocks = [book.counted(code) for code in FOUR]
    assert 4 == book.run(page(*blocks))[1]
    blocks[place] += "\nprint('new')"
    run, count = book.same(page(*blocks))
    assert 4 - place == count
    assert "[1, 2, 3, 4]" == run.outputs[4].split("\n")[0]


def test_an_edit_that_is_edited_again_runs_from_there_again(book):
    blocks = [book.counted(code) for code in FOUR]
    book.run(page(*blocks))
    for number in range(5, 9):
        run, count = book.same(page(*blocks[:3], book.counted(f"a += [{number}]\nprint(a)")))
        assert (1, f"[1, 2, 3, {number}]") == (count, run.outputs[4])


def test_a_new_expression_and_a_lost_block_run_nothing(book):
    blocks = [book.counted(code) for code in FOUR]
    book.run(page(*blocks))
    assert ([1, 2, 3, 4], 0) == _evaluated(book, page(*blocks), "str(a)", "len(a)")
    assert ([1, 2], 0) == _evaluated(book, page(*blocks[:2]), "str(a)", "len(a)")


def _evaluated(book, text, name, size):
    run, count = book.same(text, name, size)
    assert run.values[size] == len(eval(run.values[name]))
    return eval(run.values[name]), count


def test_a_block_that_is_added_is_the_only_one_to_run(book):
    blocks = [book.counted(code) for code in FOUR]
    book.run(page(*blocks[:3]))
    run, count = book.same(page(*blocks))
    assert (1, "[1, 2, 3, 4]") == (count, run.outputs[4])


def test_blocks_that_move_on_the_page_do_not_run(book):
    blocks = [book.counted(code) for code in FOUR]
    book.run(page(*blocks))
    shown = '```python exec="off" reason="an hour"\ntrain()\n```\n\n'
    run, count = book.same(f"More\n\nwords.\n\n{shown}{page(*blocks)}")
    assert (0, [2, 3, 4, 5]) == (count, list(run.outputs))


def test_a_page_is_copied_once_it_has_worked_for_a_while(book, monkeypatch):
    monkeypatch.setattr(checkpoints, "_WORTH", 0.1)
    blocks = ("x = 1", "y = 2", "import time\ntime.sleep(0.1)", "z = 3")
    book.run(page(*blocks))
    assert [3, 4] == [len(copy.steps) for copy in book.copies._copies]


def test_a_check_makes_no_copies(book):
    book.project.parse(page(*FOUR))
    assert 4 == book.project.check().counts["ran"]
    assert [] == family.children(family._server._forkserver_pid)


# What a run that went on cannot be told from.

STATE = """\
import math, os, random
print(random.random(), random.gauss(0, 1))
own = random.Random(3)
print(own.random(), os.getcwd() == here, sorted(os.listdir()), len(os.listdir("/proc/self/fd")))"""


def test_random_numbers_folders_and_descriptors_go_on_as_in_a_fresh_run(book):
    first = "import os, random\nhere = os.getcwd()\nrandom.gauss(0, 1)"
    book.run(page(first, STATE, "print(1)"))
    for number in range(3):
        _, count = book.same(page(first, STATE, f"{STATE}\nprint(own.random(), {number})"))
        assert 0 == count
    assert 2 == book.depth(first, STATE, "another = 1")


TRAINS = """\
import numpy, torch
torch.manual_seed(0); numpy.random.seed(0)
layer = torch.nn.Linear(64, 64)
optimizer = torch.optim.Adam(layer.parameters())
generator = numpy.random.default_rng(0)"""
STEP = """\
loss = layer(torch.randn(32, 64)).square().mean()
loss.backward()
optimizer.step()
print(loss.item(), numpy.random.rand(), generator.random(), torch.rand(1).item())"""
BOTH_WAYS = """\
import dataclasses
from pathlib import Path
from driftproof import checkpoints, runner
from driftproof.checkpoints import Checkpoints
from driftproof.config import load
from driftproof.grammar import parse_page
checkpoints._WORTH = 0.0
config, copies = load(Path.cwd()), Checkpoints()
copies.run(config, parse_page(config, "docs/page.md"), [])
Path("docs/page.md").write_text(Path("docs/edited.txt").read_text())
page = parse_page(config, "docs/page.md")
print(copies.depth(config, page))
for run in copies.run, runner.run:
    print(dataclasses.replace(run(config, page, ["loss.item()"]), seconds={}))
copies.close()
"""


def test_a_training_goes_on_as_in_a_fresh_run(project):
    pytest.importorskip("torch")
    threads = {f"environment.{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    project.configure(preload=["torch", "numpy"], **threads)
    project.write("docs/page.md", page(TRAINS, STEP, STEP))
    edited = page(TRAINS, STEP, f"{STEP}\nprint(float(layer.weight.sum()))", STEP)
    project.write("docs/edited.txt", edited)
    build = [sys.executable, "-c", BOTH_WAYS]
    done = subprocess.run(build, cwd=project.root, capture_output=True, text=True, check=True)
    depth, resumed, fresh = done.stdout.splitlines()
    assert ("2", fresh) == (depth, resumed)
    assert "failure=None" in fresh


def test_figures_exceptions_and_standard_error_are_those_of_a_fresh_run(book):
    pytest.importorskip("matplotlib")
    draw = """\
import driftproof
from matplotlib.figure import Figure
fig = Figure()
fig.subplots().plot([1, 2, {last}])
driftproof.figure(fig, alt="a line", caption="It rises.", data={{"x": [1, 2, {last}]}})"""
    book.run(page("x = 1", draw.format(last=3)))
    run, _ = book.same(page("x = 1", draw.format(last=4)))
    assert "4" in run.figures[2].columns
    raises = '```python raises="ValueError"\nprint("before")\nraise ValueError("no")\n```\n'
    run, _ = book.same(page("x = 1") + raises)
    assert "before\nValueError: no" == run.outputs[2]
    fails = "import sys\nprint('why', file=sys.stderr)\nprint('out')\nx / 0"
    run, _ = book.same(page("x = 1", fails))
    assert ("ZeroDivisionError", 9, "why") == (run.failure.kind, run.failure.line, run.stderr)


def test_lines_in_messages_are_those_of_the_page_as_it_is_now(book):
    first = "def halve(x):\n    return x / 0"
    book.run(page(first, "y = 1"))
    run, _ = book.same(f"Two\n\nparagraphs.\n\n{page(first, 'halve(1)')}")
    assert run.failure.frames[1].startswith("docs/page.md:7, in halve:")


@pytest.mark.parametrize(
    "code",
    [
        "import os; os._exit(3)",
        "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
        "print('x' * 30_000)",
        "import threading, time; threading.Thread(target=time.sleep, args=(9,)).start()",
        "import subprocess; sleeping = subprocess.Popen(['sleep', '9'])",
        "import sys; sys.exit(4)",
        "def f(:",
    ],
)
def test_a_block_that_ends_the_run_says_what_it_says_in_a_fresh_one(book, code):
    book.project.configure(max_output=20_000)
    book.run(page("x = 1", "y = 2"))
    run, _ = book.same(page("x = 1", code))
    assert 2 == run.failed
    run, _ = book.same(page("x = 1", "print(x)"))
    assert "1" == run.outputs[2]


def test_a_deadline_holds_where_a_page_goes_on(book):
    book.run(page("x = 1", "y = 2"))
    endless = page("x = 1", "while True:\n    pass").replace(
        "python\nwhile", 'python timeout="0.2"\nwhile'
    )
    run, _ = book.run(endless)
    assert ("Deadline", 6) == (run.failure.kind, run.failure.line)


def test_files_that_a_run_leaves_are_gone_when_it_runs_again(book):
    book.run(page("import os, tempfile", "print(sorted(os.listdir()))"))
    leaves = """\
open('left.txt', 'w').write('x')
os.makedirs('folder/inner')
print(sorted(os.listdir()), len(os.listdir(tempfile.gettempdir())))
file = tempfile.NamedTemporaryFile(delete=False)"""
    for number in range(2):
        run, _ = book.same(page("import os, tempfile", f"{leaves}\nprint({number})"))
        assert run.outputs[2].startswith("['docs', 'folder', 'left.txt', 'snippets', 'src'] 0")


def test_folders_that_a_block_leaves_are_there_when_the_page_goes_on(book):
    makes = "import os\nos.makedirs('one/two', mode=0o700)"
    lists = "print(sorted(os.listdir()), os.listdir('one'), oct(os.stat('one/two').st_mode))"
    book.run(page(makes, lists))
    book.run(page("x = 1", makes, lists))
    run, _ = book.same(page(makes, "os.rmdir('one/two')\nprint(sorted(os.listdir()))"))
    assert "['docs', 'one', 'snippets', 'src']" == run.outputs[2]
    assert 1 == book.depth(makes, f"{lists}\nprint(4)")
    book.same(page(makes, f"{lists}\nprint(4)"))


def test_a_module_that_came_since_is_found(book):
    find = "try:\n    import late\n    print(late.X)\nexcept ImportError:\n    print('none')"
    assert "none" == book.run(page("x = 1", find))[0].outputs[2]
    book.project.write("src/late.py", "X = 4\n")
    run, _ = book.same(page("x = 1", f"{find}\nx"))
    assert "4" == run.outputs[2]


# Where no copy is made.


@pytest.mark.parametrize(
    "code",
    [
        "open('left.txt', 'w').close()",
        "import tempfile; tempfile.mkstemp()",
        "import os; os.remove('docs')",
        "import os; os.chdir('/')",
        "file = open('/dev/null')",
        "file = open('/dev/shm/trace-of-a-page', 'a')",
        "import os; file = open('docs/data.txt'); other = os.dup(file.fileno())",
        "import socket; a, b = socket.socketpair()",
        "import mmap; shared = mmap.mmap(-1, 4096)",
        "import multiprocessing; lock = multiprocessing.get_context('fork').Lock()",
        "import signal; signal.setitimer(signal.ITIMER_REAL, 99)",
        "import signal; signal.signal(signal.SIGCHLD, lambda *_: print('child'))",
        "import subprocess; ended = subprocess.Popen(['false'])\nimport time; time.sleep(0.1)",
        "import time; began = time.process_time()",
        "import ctypes, numpy\nnumpy.linalg.inv(numpy.ones((9, 9)) + numpy.eye(9))\n"
        "import _thread, time; _thread.start_new_thread(time.sleep, (0.3,))",
    ],
    ids=["file", "temporary", "link", "place", "device", "writing", "twice",
         "socket", "memory", "lock", "timer",
         "handler", "child", "clock", "thread"],
)  # fmt: skip
def test_what_a_copy_would_not_have_of_its_own_leaves_none(book, code):
    book.project.write("docs/data.txt", "abcdef")
    use = "print(open('left.txt').read() if 'left' in globals() else 'used')"
    book.run(page("x = 1", code, use))
    assert 1 == book.depth("x = 1", code, use)
    book.same(page("x = 1", code, f"{use}\nx"))


def test_a_block_that_asks_for_the_peak_of_its_process_runs_in_a_whole_one(book):
    peak = "import resource\nprint(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 1)"
    book.run(page(book.counted("x = 1"), peak))
    assert 1 == book.same(page(book.counted("x = 1"), f"{peak}\nx"))[1]


def test_a_file_that_is_being_read_is_read_on_from_where_it_was(book):
    book.project.write("docs/data.txt", "".join(f"line {number}\n" for number in range(9)))
    opens = "import os\nfile = os.open('docs/data.txt', os.O_RDONLY)\nagain = open('docs/data.txt')"
    reads = "print(os.read(file, 7).decode(), again.readline(), os.lseek(file, 0, os.SEEK_CUR))"
    book.run(page(opens, reads, reads))
    for number in range(3):
        book.same(page(opens, reads, f"{reads}\n{reads}\nprint({number}, file)"))
        book.same(page(opens, f"{reads}\nprint({number})", reads))
    assert 1 == book.depth(opens, "x = 1")


def test_a_page_that_closed_a_file_again_has_copies_after_it(book):
    codes = ("file = open('left.txt', 'w')", "file.close()\nimport os\nos.remove('left.txt')")
    book.run(page("x = 1", *codes, "print(4)"))
    assert 3 == book.depth("x = 1", *codes, "print(5)")


# Where no copy is used.


@pytest.mark.parametrize(
    ("early", "late", "depth"),
    [("four", "5", 2), ("five", "four", 0)],
)
def test_a_file_that_changed_is_read_again(book, early, late, depth):
    for name in ("early", "late"):
        book.project.write(f"docs/{name}.txt", "four")
    codes = [f"print(open('docs/{name}.txt').read())" for name in ("early", "late")]
    blocks = (codes[0], "x = 1", codes[1], "print(x)")
    book.run(page(*blocks))
    book.project.write("docs/early.txt", early)
    book.project.write("docs/late.txt", late)
    assert depth == book.depth(*blocks)
    run, _ = book.same(page(*blocks))
    assert (early, late) == (run.outputs[1], run.outputs[3])


def test_a_module_that_changed_is_imported_again(book):
    book.project.write("src/constants.py", "FACTOR = 1\n")
    blocks = ("import math", "import constants", "print(constants.FACTOR)")
    book.run(page(*blocks))
    book.project.write("src/constants.py", "FACTOR = 2\n")
    assert 1 == book.depth(*blocks)
    assert "2" == book.same(page(*blocks))[0].outputs[3]


@pytest.mark.parametrize("change", ["environment", "variable", "raises"])
def test_other_settings_run_the_page_as_a_whole(book, change, monkeypatch):
    book.project.configure(variables=["BOOK_*"])
    code = "import os\nprint(os.environ.get('BOOK_FLAG'))"
    text = page("x = 1", code)
    book.run(text)
    if change == "environment":
        book.project.configure(variables=["BOOK_*"], **{"environment.BOOK_FLAG": "1"})
    elif change == "variable":
        monkeypatch.setenv("BOOK_FLAG", "1")
    else:
        text = text.replace("```python", '```python raises="ValueError"', 1)
    assert 0 == book.copies.depth(book.project.config, book.project.parse(text))
    book.same(text)


# Processes.


def test_a_stopped_page_leaves_its_copies_and_those_end_with_their_owner(book):
    gate = book.trace.with_name("gate")
    waits = f"import os, time\nwhile not os.path.exists({str(gate)!r}):\n    time.sleep(0.01)"
    text = page("x = 1", "y = 2", waits)
    parsed = book.project.parse(text)
    thread = threading.Thread(target=lambda: book.copies.run(book.project.config, parsed, []))
    thread.start()
    waits_until(lambda: len(book.copies._copies) == 2 and runner.running())
    runner.stop("docs/page.md")
    thread.join()
    pids = [copy.pid for copy in book.copies._copies]
    assert [True, True] == [alive(pid) for pid in pids]
    gate.touch()
    assert 2 == book.depth("x = 1", "y = 2", waits)
    run, _ = book.same(text)
    assert run.failure is None
    book.copies.close()
    assert waits_until(lambda: not any(map(alive, pids)))


def test_another_page_that_ends_spares_the_copies(book):
    book.run(page("x = 1", "y = 2"))
    runner.run(book.project.config, book.project.parse(page("z = 3")), [])
    assert [True, True] == [alive(copy.pid) for copy in book.copies._copies]


def test_a_copy_that_was_killed_is_no_copy(book):
    blocks = [book.counted(code) for code in FOUR]
    book.run(page(*blocks))
    for copy in book.copies._copies:
        os.kill(copy.pid, signal.SIGKILL)
    assert 4 == book.same(page(*blocks[:3], book.counted("print('new')")))[1]


def test_of_more_copies_than_may_stay_those_go_that_save_least(book, monkeypatch):
    monkeypatch.setattr(checkpoints, "_OF_A_PAGE", 2)
    work = "x = sum(range(3_000_000))"
    book.run(page("a = 1", work, "b = 2", work, "c = 3", "d = 4"))
    assert [2, 4] == [len(copy.steps) for copy in book.copies._copies]


def test_copies_of_a_text_that_is_no_more_go_first(book, monkeypatch):
    monkeypatch.setattr(checkpoints, "_IN_ALL", 3)
    work = "x = sum(range(3_000_000))"
    book.run(page("a = 1", work))
    book.run(page("a = 2", "b = 3"))
    assert ["a = 1\n", "a = 2\n", "a = 2\n"] == sorted(
        copy.steps[0].code for copy in book.copies._copies
    )


def test_no_more_copies_stay_than_may(book, monkeypatch):
    book.run(page("x = sum(range(3_000_000))", "y = sum(range(3_000_000))"))
    monkeypatch.setattr(checkpoints, "_IN_ALL", 2)
    pids = [copy.pid for copy in book.copies._copies]
    other = book.project.parse(page("y = sum(range(12_000_000))"), "docs/other.md")
    book.copies.run(book.project.config, other, [])
    assert ["docs/page.md", "docs/other.md"] == [copy.path for copy in book.copies._copies]
    assert waits_until(lambda: 1 == sum(map(alive, pids)))


def test_copies_that_hold_much_go(book, monkeypatch):
    monkeypatch.setattr(checkpoints, "_MEMORY", 150 * 2**20)
    book.run(page(*(f"x{number} = bytearray(60 * 2**20)" for number in range(4))))
    kept = [len(copy.steps) for copy in book.copies._copies]
    assert kept in ([1], [2], [1, 2], [])
    assert len(kept) < 4
    for copy in book.copies._copies:
        copy.measure()
    assert 150 * 2**20 >= sum(copy.bytes for copy in book.copies._copies)


KILLED = """\
import os, sys, time
from pathlib import Path
from driftproof import checkpoints
from driftproof.checkpoints import Checkpoints
from driftproof.config import load
from driftproof.grammar import parse_page
checkpoints._WORTH = 0.0
config, copies = load(Path.cwd()), Checkpoints()
copies.run(config, parse_page(config, "docs/page.md"), [])
print(*[copy.pid for copy in copies._copies], flush=True)
Path("docs/page.md").write_text(Path("docs/page.md").read_text() + sys.argv[1])
copies.run(config, parse_page(config, "docs/page.md"), [])
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_the_build(book, how):
    book.project.configure(**{"environment.MARK": str(book.trace)})
    book.project.write("docs/page.md", page("x = 1", "y = 2"))
    started = (
        f"import subprocess\nsubprocess.Popen(['sleep', '60'])\nopen({str(book.trace)!r}, 'w')"
    )
    last = page(f"{started}\nwhile True:\n    pass")
    build = subprocess.Popen(
        [sys.executable, "-c", KILLED, last], cwd=book.project.root, stdout=subprocess.PIPE
    )
    assert build.stdout
    pids = [int(pid) for pid in build.stdout.readline().split()]
    assert 2 == len(pids)
    waits_until(book.trace.exists)
    assert [True, True] == [alive(pid) for pid in pids]
    build.send_signal(how)
    build.wait()
    build.stdout.close()
    assert waits_until(lambda: not any(map(alive, pids)) and not _marked(str(book.trace)))


def _marked(mark):
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found.append(folder.name)
        except OSError:
            continue
    return found


CONTROL = """\
import gc, os, socket
from multiprocessing.connection import Connection
(pipe,) = [c for c in gc.get_objects() if isinstance(c, Connection) and c.writable and c.readable]
control = socket.socket(fileno=os.dup(pipe.fileno()))
"""


def test_a_page_that_tells_of_a_copy_without_one_interferes(book):
    run, _ = book.run(page(f"{CONTROL}control.send(b'[\"kept\", 1]\\n')"))
    assert "Interfered" == run.failure.kind


def test_a_page_that_names_another_process_as_its_copy_ends_no_other(book):
    bystander = subprocess.Popen(["sleep", "60"])
    lie = f"""{CONTROL}
end, other = socket.socketpair()
socket.send_fds(control, [b'["kept", {bystander.pid}]\\n'], [end.fileno()])
control.close(), end.close(), other.close()"""
    book.run(page(lie, "x = 1"))
    book.run(page(lie, "x = 2"))
    book.copies.close()
    assert alive(bystander.pid)
    bystander.kill()
    bystander.wait()


# Whatever is edited.

PIECES = (
    "x = x + [len(x)]",
    "print(x, random.random())",
    "import helper\nprint(helper.VALUE)",
    "print(open('docs/data.txt').read())",
    "import os\nprint(sorted(os.listdir()))",
    "open('left.txt', 'w').write(str(x))\nprint('left')",
    "os_name = __import__('os').environ.get('BOOK_FLAG')\nprint(os_name)",
    "file = open('docs/data.txt')",
    "print(file.read(1))",
    "print(random.gauss(0, 1))\nrandom.seed(len(x))",
    "x[7]",
    "def f(n):\n    return n and f(n - 1)\nprint(f(3))",
)
EXPRESSIONS = ("len(x)", "sum(x)", "random.random()", "missing")


@pytest.mark.parametrize("seed", range(64))
def test_any_sequence_of_edits_gives_what_a_fresh_run_gives(book, seed):
    choose = random.Random(seed)
    book.project.configure(variables=["BOOK_*"])
    book.project.write("src/helper.py", "VALUE = 0\n")
    book.project.write("docs/data.txt", "0")
    blocks = [choose.choice(PIECES) for _ in range(3)]
    expressions = ["len(x)"]
    for number in range(4):
        book.same(page("import random\nx = [1]", *blocks), *expressions)
        place = choose.randrange(len(blocks) + 1)
        match choose.randrange(8):
            case 0:
                book.project.write("src/helper.py", f"VALUE = {number}\n")
            case 1:
                book.project.write("docs/data.txt", f"{number}")
            case 2:
                expressions = choose.sample(EXPRESSIONS, 2)
            case 3 if len(blocks) > 1:
                del blocks[place % len(blocks)]
            case 4 | 5:
                blocks.insert(place, choose.choice(PIECES))
            case _:
                blocks[place % len(blocks)] = choose.choice(PIECES)
