"""What a page's blocks print, how they end, and what no other page ever sees of them."""

import os
import py_compile
import re
import sys
import threading
import time
from pathlib import Path

import pytest

from driftproof import reader, runner
from driftproof.failure import Failure

FAILING = sorted((Path(__file__).parent / "failing/docs").glob("*.md"))
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc")


def page(*blocks):
    return "".join(f"```python\n{block}\n```\n\n" for block in blocks)


def run(project, *blocks, expressions=()):
    return runner.run(project.config, project.parse(page(*blocks)), list(expressions))


def kind(result):
    assert result.failure is not None
    return result.failure.kind


def printed(project, *blocks):
    result = run(project, *blocks)
    assert result.failure is None, result.failure
    return "\n".join(result.outputs.values())


def running(mark):
    """Return the command lines of processes in whose environment `mark` stands."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_text())
        except OSError:
            continue
    return found


@pytest.fixture(scope="module")
def failing(new_project):
    """A report on the pages under failing/, and a word in the environment of all they started."""
    book = new_project()
    mark = f"mark-of-{book.root.name}-{os.getpid()}"
    book.add_failing(**{"environment.MARK": mark})
    return book.check(), mark


@pytest.mark.parametrize("file", FAILING, ids=lambda file: file.stem)
def test_a_failing_block_is_reported_at_its_true_line(failing, file):
    report, _ = failing
    result = report.results[f"docs/{file.name}"]
    where, message = re.findall(r'^fails: "(\S+) (.*)"$', file.read_text(), re.MULTILINE)[0]
    (problem,) = result.problems
    place = where if ":" in where else f"docs/{file.name}:{where}"
    assert (place, message) == (f"{problem.path}:{problem.line}", problem.message)
    for through in " ".join(re.findall(r'^through: "(.*)"$', file.read_text(), re.M)).split():
        assert any(line.startswith(through) for line in problem.detail), problem.detail


def test_no_frame_and_no_path_outside_the_project_is_reported(failing):
    text = "\n".join(str(problem) for problem in failing[0].problems)
    assert "worker.py" not in text
    assert sys.prefix not in text
    assert str(Path(__file__).parents[2]) not in text


def test_the_block_after_an_endless_one_does_not_run(failing):
    result = failing[0].results["docs/endless-loop.md"]
    assert set() == set(result.run.outputs)
    assert "blocks after it, not run: 1" in result.problems[0].detail


@on_linux
def test_no_process_survives_its_page(failing):
    assert [] == [line for line in running(failing[1]) if line.startswith("sleep")]


@on_linux
def test_a_stopped_page_takes_along_what_it_started(project):
    mark = f"mark-of-{project.root}"
    project.configure(**{"environment.MARK": mark})
    code = 'import subprocess\nsubprocess.Popen(["sleep", "60"], start_new_session=True)'
    assert "RuntimeError" == run(project, f"{code}\nraise RuntimeError").failure.kind
    text = page(f"{code}\nwhile True: pass").replace("```python", '```python timeout="0.3"', 1)
    result = runner.run(project.config, project.parse(text), [])
    assert "Deadline" == kind(result)
    assert [] == [line for line in running(mark) if line.startswith("sleep")]


def test_a_block_that_forks_goes_on_once(project):
    code = (
        "import os\nif (child := os.fork()):\n    os.waitpid(child, 0)\nprint('here', flush=True)"
    )
    result = run(project, code, "print('next')")
    assert "here\nhere" == result.outputs[1]
    assert "next" == result.outputs[2]


def test_an_exception_that_cannot_say_what_it_is_is_reported(project):
    code = "class Mute(Exception):\n    def __str__(self):\n        raise ValueError\n\nraise Mute"
    result = run(project, code)
    assert ("Mute", 6) == (result.failure.kind, result.failure.line)


def test_a_block_runs_once_also_when_it_raises_type_error(project, new_outside):
    count = new_outside() / "count"
    run(project, f"open({str(count)!r}, 'a').write('once ')\nlen(26)")
    assert "once " == count.read_text()


# What is printed.


def test_everything_written_to_standard_output_appears_in_order(project):
    project.write("src/table.py", "def table():\n    print('step | grad')\n")
    code = """\
import ctypes, os, sys
from table import table
print("a", "b", sep="", end="")
os.write(1, b" and c\\n")
table()
libc = ctypes.CDLL(None)
libc.puts(b"from C")
print("to a file", file=sys.stdout)
libc.printf(b"half a line, ")
sys.stdout.write("then the rest\\n")
sys.stdout.buffer.write(b"bytes\\n")
os.system("echo from a shell")
print("no newline", end="")"""
    expected = (
        "ab and c\nstep | grad\nfrom C\nto a file\nhalf a line, then the rest\nbytes\n"
        "from a shell\nno newline"
    )
    assert expected == printed(project, code)


def test_standard_error_does_not_appear(project):
    code = """\
import logging, sys, warnings
print("first")
print("to stderr", file=sys.stderr)
warnings.warn("a warning about dtype")
logging.getLogger("book").warning("a log line")
1 + 1
print("last")"""
    assert "first\nlast" == printed(project, code)


def test_what_a_failing_block_wrote_to_standard_error_is_kept(project):
    result = run(project, "import sys\nprint('why it failed', file=sys.stderr)\nraise SystemExit")
    assert "why it failed" == result.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10%\r50%\r100%\n", "100%"),
        ("10%\r100%\r", "100%"),
        ("epoch 1\n 5/10\r10/10\r\ndone\n", "epoch 1\n10/10\ndone"),
        ("\x1b[1;31mred\x1b[0m and \x1b]8;;http://x\x07link\x1b]8;;\x07", "red and link"),
        ("bell\x07 back\x08space\x0c", "bell backspace"),
        ("blank at the end  \t\n\n\n", "blank at the end"),
        ("\n  indented\n", "\n  indented"),
        ("x\u2028y", "xy"),
    ],
)
def test_printed_text_is_recorded_without_what_only_a_terminal_shows(text, expected):
    assert expected == reader.clean(text)


def test_each_block_has_its_own_output(project):
    blocks = [f"print('block {i}' * 5000)" for i in range(5)]
    result = run(project, *blocks)
    assert [f"block {i}" * 5000 for i in range(5)] == list(result.outputs.values())


def test_blocks_share_the_names_of_their_page(project):
    assert "\ncontinued 26" == printed(project, "first = 20", "print('continued', first + 6)")


def test_a_declared_exception_is_output(project):
    text = '```python raises="ValueError"\nraise ValueError("no such gate")\n```\n'
    result = runner.run(project.config, project.parse(text), [])
    assert "ValueError: no such gate" == result.outputs[1]
    text = '```python raises="ValueError"\nprint("fine")\n```\n'
    result = runner.run(project.config, project.parse(text), [])
    assert "NotRaised" == kind(result)


def test_an_expression_has_a_plain_value(project):
    code = (
        "import enum\nclass Gate(enum.IntEnum):\n    FORGET = 3\ngate, share = Gate.FORGET, 0.065"
    )
    values = run(project, code, expressions=["gate", "share", "gate > 2", "missing", "[]"]).values
    assert (3, int) == (values["gate"], type(values["gate"]))
    assert (0.065, True) == (values["share"], values["gate > 2"])
    assert "NameError" == values["missing"].kind
    assert isinstance(values["[]"], Failure)


# What no other page sees.

CHANGES = """\
import json, os, random, sys, warnings
random.seed(7)
warnings.simplefilter("error")
os.environ["BOOK_FLAG"] = "left over"
os.chdir("/")
sys.path.insert(0, "/nowhere")
sys.argv.append("left")
json.JSONEncoder.encode = lambda self, value: "patched"
sys.setrecursionlimit(77)
open("/dev/null").close()
print("changed")"""
EXPECTS = """\
import json, os, random, sys, warnings
print(random.random())
print(sum(rule[0] == "error" for rule in warnings.filters), sys.getrecursionlimit())
print(os.environ.get("BOOK_FLAG"), os.getcwd() == "/", "/nowhere" in sys.path, sys.argv)
print(json.dumps(1), __name__, sorted(os.listdir()))"""
DEFAULTS = f"""\
0.8444218515250481
0 {sys.getrecursionlimit()}
None False False ['']
1 __main__ ['docs', 'snippets', 'src']"""


def test_what_a_page_changes_no_other_page_and_no_rebuild_sees(project):
    project.write("docs/a-changes.md", f"{page(CHANGES)}```output\nchanged\n```\n")
    project.write("docs/z-expects.md", f"{page(EXPECTS)}```output\n{DEFAULTS}\n```\n")
    changes, expects = (project.parse(path=f"docs/{n}.md") for n in ("a-changes", "z-expects"))
    for order in [[expects], [changes, expects], [expects, changes, expects]]:
        runs = [runner.run(project.config, one, []) for one in order]
        assert DEFAULTS == runs[-1].outputs[1]
    assert [] == project.check().problems


def test_what_a_page_changes_the_build_does_not_see(project):
    before = (os.getcwd(), dict(os.environ), list(sys.path), sys.getrecursionlimit())
    assert "changed" == printed(project, CHANGES)
    assert before == (os.getcwd(), dict(os.environ), list(sys.path), sys.getrecursionlimit())


def test_a_page_works_in_an_empty_folder_that_ends_with_it(project):
    folder = printed(project, "import os\nopen('x.txt', 'w').write('x')\nprint(os.getcwd())")
    assert not Path(folder).exists()
    assert not (project.root / "x.txt").exists()


@pytest.mark.parametrize(
    "code",
    [
        "open('docs/new.txt', 'w')",
        "open('src/new.py', 'a')",
        "from pathlib import Path\nPath('docs/new.txt').write_text('x')",
        "import os\nos.remove('docs/data.txt')",
        "import os\nos.rename('docs/data.txt', 'data.txt')",
        "import os\nos.mkdir('docs/new')",
        "import os\nos.symlink('/dev/null', 'docs/new')",
        "import os\nos.truncate('docs/data.txt', 0)",
        "import shutil\nshutil.move('docs/data.txt', 'docs/moved.txt')",
    ],
)
def test_a_block_cannot_change_the_project(project, code):
    project.write("docs/data.txt", "4")
    before = sorted(path for path in project.root.rglob("*") if ".driftproof" not in path.parts)
    result = run(project, code)
    assert "PermissionError" == result.failure.kind
    assert "in the project" in result.failure.message
    assert str(project.root) not in result.failure.message
    page_file = project.root / "docs/page.md"
    assert {*before, page_file} == set(project.root.rglob("*"))
    assert "4" == project.read("docs/data.txt")


def test_a_block_reads_the_project_by_its_own_names(project):
    project.write("docs/data.txt", "4")
    assert "4" == printed(project, "print(open('docs/data.txt').read())")


def test_the_environment_of_pages_does_not_depend_on_what_starts_meanwhile(project):
    code = "import os, time\nprint(os.environ.get('PYTHONHASHSEED'), hash('attention'))"
    for name in "abcd":
        project.write(f"docs/{name}.md", page(code))
    report = project.check()
    assert 1 == len({result.run.outputs[1] for result in report.results.values()})


def test_a_module_is_imported_as_it_is_now(project):
    file = project.root / project.write("src/constants.py", "FACTOR = 1")
    assert "1" == printed(project, "import constants\nprint(constants.FACTOR)")
    py_compile.compile(str(file), doraise=True)
    status = file.stat()
    file.write_text("FACTOR = 2")  # of the same size, and of the same time
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert "2" == printed(project, "import constants\nprint(constants.FACTOR)")


# Deadlines.


def test_a_block_that_prints_without_end_is_stopped_at_its_deadline(project):
    text = page("import time\nwhile True:\n    print('.', end='')\n    time.sleep(0.001)")
    text = text.replace("```python", '```python timeout="0.4"', 1)
    began = time.monotonic()
    result = runner.run(project.config, project.parse(text), [])
    assert "Deadline" == kind(result)
    assert 5 > time.monotonic() - began


def test_what_is_loaded_before_the_first_block_is_not_on_its_clock(project):
    project.configure(timeout=0.5, clean_state="slow:clean")
    project.write("src/slow.py", "import time\ndef clean():\n    time.sleep(1)\n")
    assert "in time" == printed(project, "print('in time')")


def test_a_clean_state_that_fails_is_reported(project):
    project.configure(clean_state="state:clean")
    project.write("src/state.py", "def clean():\n    raise OSError('no such device')\n")
    project.write("docs/page.md", page("print('never')"))
    (problem,) = project.check().problems
    assert ("src/state.py", 2) == (problem.path, problem.line)
    assert "OSError: no such device" == problem.message


# With torch and numpy: one command, whose fork server imports them once.

LEAKS = """\
import numpy as np, torch
torch.manual_seed(7)
torch.set_default_dtype(torch.float64)
torch.set_printoptions(precision=2, sci_mode=False)
np.set_printoptions(precision=2, suppress=True)
np.random.seed(7)
torch.set_grad_enabled(False)
torch.use_deterministic_algorithms(True)
torch.set_num_threads(2)
np.seterr(all="ignore")
torch.nn.Linear.reset_parameters = lambda self: None
print("changed")"""
CLEAN = """\
import random, numpy as np, torch
print("torch:", torch.rand(2))
print("numpy:", np.random.rand(2))
print("random:", round(random.random(), 6))
print(torch.tensor([1 / 3]).dtype, torch.tensor([1 / 3]), np.array([1 / 3]))
print(torch.is_grad_enabled(), torch.get_num_threads(), np.geterr()["divide"])
print(torch.nn.Linear.reset_parameters.__name__)"""
FROM_SEED_0 = """\
torch: tensor([0.4963, 0.7682])
numpy: [0.5488135  0.71518937]
random: 0.844422
torch.float32 tensor([0.3333]) [0.33333333]
True 1 warn
reset_parameters"""


def test_torch_and_numpy_begin_every_page_with_the_clean_state(project):
    pytest.importorskip("torch")
    source = Path(__file__).parents[2] / "src/onehop"
    for name in ("__init__.py", "determinism.py", "trainings.py"):
        project.write(f"src/onehop/{name}", (source / name).read_text())
    project.configure(preload=["torch"], clean_state="onehop.determinism:clean_state", timeout=9)
    for name in "az":
        project.write(f"docs/{name}-changes.md", f"{page(LEAKS)}```output\nchanged\n```\n")
    for name in "by":
        project.write(f"docs/{name}-expects.md", f"{page(CLEAN)}```output\n{FROM_SEED_0}\n```\n")
    done = project.command("driftproof.cli", "check", OMP_NUM_THREADS="1")
    assert 0 == done.returncode, done.stdout
    assert "4 blocks expected, 4 ran, 0 from cache, 4 agreed" in done.stdout


def test_a_page_shares_memory_with_the_fork_server_and_no_random_numbers(project):
    pytest.importorskip("numpy")
    project.configure(preload=["numpy"])
    looks = (
        "import sys, numpy",
        "from driftproof.observe import imported",
        "new = len(sys.modules) - len(imported.names)",
        "print([*sys.modules][-1 - new] == imported.last, 'numpy.random' in imported.names)",
    )
    for name in "ab":
        project.write(f"docs/{name}.md", page("\n".join(looks), "print(numpy.random.random())"))
    done = project.command("driftproof.cli", "record")
    assert 0 == done.returncode, done.stdout
    one, other = (project.parse(path=f"docs/{name}.md").blocks for name in "ab")
    assert "True True" == one[0].output.text == other[0].output.text
    assert one[1].output.text != other[1].output.text


def test_what_the_settings_ask_of_every_page_is_kept_with_its_run(project):
    project.configure(evaluate=["str(list(steps))"])
    project.parse(page("steps = [3, 4]"))
    for again in (False, True):
        result = project.check().results["docs/page.md"]
        assert (again, "[3, 4]") == (result.cached, result.run.values["str(list(steps))"])


def test_a_question_of_the_settings_that_fails_says_where_it_stands(project):
    project.configure(evaluate=["strides"])
    project.parse(page("steps = 3"))
    (problem,) = project.check().problems
    assert str(problem).startswith("pyproject.toml:1: strides fails: NameError")


def test_the_variables_of_the_command_stay_while_pages_start(project, monkeypatch):
    monkeypatch.setenv("OF_THE_COMMAND", "here")
    seen, done = [], threading.Event()

    def look():
        while not done.is_set():
            seen.append(os.environ.get("OF_THE_COMMAND"))

    watcher = threading.Thread(target=look)
    watcher.start()
    for _ in range(5):
        assert "no" == printed(project, "import os\nprint(os.environ.get('OF_THE_COMMAND', 'no'))")
    done.set()
    watcher.join()
    assert {"here"} == set(seen)
