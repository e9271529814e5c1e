"""Runs are kept by content: what an edit reaches runs again, and nothing else does."""

import dataclasses
import os
import shutil
import threading
from pathlib import Path

import pytest

from driftproof import cache, kept, machine, runner
from driftproof.observe import real

CODE = """\
import os
from decay import left
print(f"{left(26):.4f}", open("docs/data.txt").read().strip(), os.environ.get("BOOK_FLAG"))
print("gpu" if os.environ.get("DRIFTPROOF_DEVICE") else "cpu")"""
PAGE = f"""\
Prose with <data value="left(1)">0.9</data>.

```python
{CODE}
```

```output
0.0646 four None
cpu
```

```python file="show.py"
print("snippet says", 26)
```

```output
snippet says 26
```
"""


@pytest.fixture
def book(project, monkeypatch):
    """A page that depends on all that a page can depend on, another that does not; both kept."""
    monkeypatch.delenv("BOOK_FLAG", raising=False)
    project.configure(clean_state="state:clean", variables=["BOOK_*"])
    project.write("src/state.py", "def clean():\n    pass\n")
    project.write("src/constants.py", "FACTOR = 0.9\n")
    project.write(
        "src/decay.py",
        "from constants import FACTOR\n\n\ndef left(n):\n    return FACTOR**n\n",
    )
    project.write("snippets/show.py", 'print("snippet says", 26)\n')
    project.write("docs/data.txt", "four\n")
    project.write("docs/page.md", PAGE)
    project.write(
        "docs/other.md", "```python\nprint('unrelated')\n```\n\n```output\nunrelated\n```\n"
    )
    assert [] == project.check().problems
    assert [] == ran(project)
    return project


def ran(project, **options):
    """Check the book and return the pages that ran, rather than being recalled."""
    results = project.check(**options).results
    return sorted(path for path, result in results.items() if not result.cached)


def edit(project, path, old, new):
    assert old in project.read(path)
    project.write(path, project.read(path).replace(old, new))


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("docs/page.md", "import os\nfrom", "import os  # what for\nfrom"),
        ("src/constants.py", "0.9", "0.8"),
        ("src/decay.py", "FACTOR**n", "FACTOR**(n + 1)"),
        ("docs/data.txt", "four", "five"),
        ("docs/page.md", "Prose with", 'Also <data value="left(2)">0.81</data>. Prose with'),
        ("docs/page.md", "```python\nimport", '```python raises="ValueError"\nimport'),
    ],
    ids=["block", "indirect-import", "import", "data", "bound", "raises"],
)
def test_an_edit_runs_the_pages_that_it_reaches_and_no_other(book, path, old, new):
    edit(book, path, old, new)
    assert ["docs/page.md"] == ran(book)
    edit(book, path, new, old)
    assert [] == book.check().problems


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("docs/page.md", "Prose with", "Other words, on\n\ntwo more lines, with"),
        ("docs/page.md", "```python\nimport", '```python title="One step" hl_lines="2"\nimport'),
        ("docs/page.md", "```python\nimport", '```python id="decay" timeout="9"\nimport'),
        ("docs/page.md", "```output\n0.0646", '```output rtol="1e-3" because="noise"\n0.0646'),
        ("docs/page.md", "0.0646 four", "0.0647 four"),
        ("docs/page.md", '">0.9<', '">0.8<'),
        ("src/unused.py", "", "x = 2"),
        ("docs/unused.txt", "", "five"),
        ("snippets/unused.py", "", "print(2)"),
    ],
    ids=["prose", "title", "id", "tolerance", "output", "text", "module", "file", "snippet"],
)
def test_an_edit_that_no_block_sees_runs_nothing(book, path, old, new):
    if not (book.root / path).exists():
        book.write(path, "")
    edit(book, path, old, new)
    assert [] == ran(book)


def test_an_edit_to_a_program_reaches_the_page_that_shows_it(book):
    edit(book, "snippets/show.py", "26", "22")
    (problem,) = book.check().problems
    assert ("file", "docs/page.md", 15) == (problem.code, problem.path, problem.line)
    assert ["docs/page.md"] == book.record("docs/page.md").written
    assert "\nsnippet says 22\n" in book.read()
    assert [] == ran(book)


def test_an_edit_to_the_clean_state_runs_everything(book):
    edit(book, "src/state.py", "pass", "return None")
    assert ["docs/other.md", "docs/page.md"] == ran(book)


def test_a_file_that_was_looked_for_and_comes_runs_its_page(book):
    code = "try:\n    open('docs/later.txt')\nexcept FileNotFoundError:\n    pass"
    book.write("docs/looks.md", f"```python\n{code}\n```\n")
    assert ["docs/looks.md"] == ran(book)
    assert [] == ran(book)
    book.write("docs/later.txt", "here")
    assert ["docs/looks.md"] == ran(book)


def test_a_file_that_joins_a_listed_folder_runs_its_page(book):
    code = "from pathlib import Path\nlen(list(Path('docs/parts').glob('*.txt')))"
    book.write("docs/parts/one.txt", "1")
    book.write("docs/lists.md", f"```python\n{code}\n```\n")
    assert ["docs/lists.md"] == ran(book)
    assert [] == ran(book)
    book.write("docs/parts/two.txt", "2")
    assert ["docs/lists.md"] == ran(book)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"clean_state": "state:clean", "preload": ["json"]}, ["docs/other.md", "docs/page.md"]),
        ({}, ["docs/other.md", "docs/page.md"]),
        ({"clean_state": "state:clean", "max_output": 99}, ["docs/other.md", "docs/page.md"]),
        ({"clean_state": "state:clean", "environment.A": "1"}, ["docs/other.md", "docs/page.md"]),
        ({"clean_state": "state:clean", "timeout": 99}, []),
    ],
    ids=["preload", "clean-state", "max-output", "environment", "timeout"],
)
def test_a_setting_that_pages_can_see_runs_them(book, settings, expected):
    book.configure(variables=["BOOK_*"], **settings)
    assert expected == ran(book)


def test_a_variable_runs_the_pages_that_read_it(book, monkeypatch):
    monkeypatch.setenv("BOOK_FLAG", "1")
    assert ["docs/page.md"] == ran(book)
    monkeypatch.setenv("BOOK_UNREAD", "1")
    assert [] == ran(book)


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "MKL_CBWR", "TORCH_LOGS"])
def test_a_variable_that_chooses_kernels_runs_everything(book, monkeypatch, name):
    monkeypatch.setenv(name, "3")
    assert ["docs/other.md", "docs/page.md"] == ran(book)


def test_another_processor_runs_everything(book, monkeypatch):
    monkeypatch.setattr(machine, "processor", lambda: "arm64 NEON")
    assert ["docs/other.md", "docs/page.md"] == ran(book)


def test_another_python_runs_everything(book, monkeypatch):
    monkeypatch.setattr(cache.sys, "version", "3.99.0")
    assert ["docs/other.md", "docs/page.md"] == ran(book)


def test_another_version_of_a_distribution_runs_the_pages_that_import_it(book, monkeypatch):
    book.write("docs/markup.md", "```python\nimport markdown\n```\n")
    assert ["docs/markup.md"] == ran(book)
    real = machine.version
    monkeypatch.setattr(machine, "version", lambda name: "99" if name == "Markdown" else real(name))
    assert "docs/markup.md" in ran(book)
    assert [] == ran(book)


def test_another_device_is_another_run(book):
    report = book.check(device="cuda")
    assert "gpu" in report.results["docs/page.md"].run.outputs[1]
    assert [] == ran(book, device="cuda")
    assert [] == ran(book)


def test_a_changed_runner_runs_everything(book, monkeypatch):
    monkeypatch.setattr(cache, "_tool", lambda: "another")
    assert ["docs/other.md", "docs/page.md"] == ran(book)


def test_a_recalled_run_is_the_run_that_was_made(book):
    page, config = book.parse(), book.config
    expressions = ["left(1)"]
    made = runner.run(config, page, expressions)
    recalled = cache.load(config, page, expressions, "")
    assert recalled is not None
    made.seconds = recalled.seconds = {}
    assert dataclasses.asdict(made) == dataclasses.asdict(recalled)


def test_a_failed_run_is_never_kept(book, monkeypatch):
    code = (
        "import os\nif os.environ.get('BOOK_FAIL'):\n    raise RuntimeError('first run fails')\n"
        "print('ok 1')"
    )
    book.write("docs/flaky.md", f"```python\n{code}\n```\n\n```output\nok 1\n```\n")
    monkeypatch.setenv("BOOK_FAIL", "1")
    for _ in range(2):
        (problem,) = book.check().problems
        assert "RuntimeError: first run fails" == problem.message
    monkeypatch.delenv("BOOK_FAIL")
    assert [] == book.check().problems
    assert [] == ran(book)
    monkeypatch.setenv("BOOK_FAIL", "1")
    assert 1 == len(book.check().problems)


def test_a_run_whose_expression_fails_is_not_kept(book):
    book.write("docs/other.md", '<data value="missing">3</data>\n')
    assert ["docs/other.md"] == ran(book)
    assert ["docs/other.md"] == ran(book)


def test_a_module_edited_while_its_page_runs_runs_it_again(book, new_outside):
    gate = new_outside()
    code = f"""\
import constants, os, time
open({str(gate / "imported")!r}, "w").close()
while not os.path.exists({str(gate / "edited")!r}):
    time.sleep(0.01)
print(constants.FACTOR)"""
    book.write("docs/slow.md", f"```python\n{code}\n```\n\n```output\n0.9\n```\n")

    def edit_meanwhile():
        while not (gate / "imported").exists():
            pass
        edit(book, "src/constants.py", "0.9", "0.8")
        (gate / "edited").touch()

    editor = threading.Thread(target=edit_meanwhile)
    editor.start()
    report = book.check("docs/slow.md")
    editor.join()
    assert "0.9" == report.results["docs/slow.md"].run.outputs[1]
    report = book.check("docs/slow.md")
    assert "0.8" == report.results["docs/slow.md"].run.outputs[1]


# Down to the block.

BLOCKS = ("first = 1\nprint(first)", "first += 1\nprint(first)", "first += 1\nprint(first)")
SAID = ("1", "2", "3")


def of_blocks(project, *codes, bounds=()):
    """Check a page of these blocks; return whether it was recalled, and its run."""
    prose = "".join(f'<data value="{text}">{number}</data>\n\n' for text, number in bounds)
    project.parse(prose + "".join(f"```python\n{code}\n```\n\n" for code in codes))
    result = project.check().results["docs/page.md"]
    assert result.run.failure is None, result.run.failure
    return result.cached, result.run


@pytest.mark.parametrize("count", [1, 2])
def test_a_page_that_lost_its_last_blocks_runs_nothing(project, count):
    project.configure(evaluate=["str(first)"])
    _, whole = of_blocks(project, *BLOCKS)
    assert "3" == whole.values["str(first)"]
    recalled, run = of_blocks(project, *BLOCKS[:count])
    assert recalled
    assert list(SAID[:count]) == list(run.outputs.values())
    assert {"str(first)": SAID[count - 1]} == run.values
    assert count == len(run.seconds) == len(run.reads) - 1
    again = runner.run(project.config, project.parse(project.read()), ["str(first)"])
    assert (again.outputs, again.values) == (run.outputs, run.values)


def test_a_bound_number_of_a_page_that_lost_blocks_is_computed_anew(project):
    assert 3 == of_blocks(project, *BLOCKS, bounds=[("first", 3)])[1].values["first"]
    recalled, run = of_blocks(project, *BLOCKS[:2], bounds=[("first", 2)])
    assert (False, 2) == (recalled, run.values["first"])


def test_a_page_that_lost_a_bound_number_runs_nothing(project):
    of_blocks(project, *BLOCKS, bounds=[("first", 3), ("first + 1", 4)])
    recalled, run = of_blocks(project, *BLOCKS, bounds=[("first + 1", 4)])
    assert (True, {"first + 1": 4}) == (recalled, run.values)
    assert of_blocks(project, *BLOCKS)[0]
    recalled, run = of_blocks(project, *BLOCKS, bounds=[("first - 1", 2)])
    assert (False, 2) == (recalled, run.values["first - 1"])


@pytest.mark.parametrize("place", [0, 1])
def test_a_block_moved_or_lost_in_the_middle_runs_the_page(project, place):
    of_blocks(project, *BLOCKS[:2], "print('last')")
    others = [code for i, code in enumerate((*BLOCKS[:2], "print('last')")) if i != place]
    assert not of_blocks(project, "first = 1", *others)[0]


def test_a_page_of_fewer_blocks_depends_on_what_those_have_read(project):
    for name in ("early", "late"):
        project.write(f"docs/{name}.txt", name)
    codes = [f"print(open('docs/{name}.txt').read())" for name in ("early", "late")]
    of_blocks(project, *codes)
    project.write("docs/late.txt", "later")
    assert of_blocks(project, codes[0])[0]
    assert not of_blocks(project, *codes)[0]
    project.write("docs/early.txt", "earlier")
    assert not of_blocks(project, codes[0])[0]


def test_each_block_has_what_it_was_the_first_to_read(project):
    project.configure(variables=["BOOK_*"])
    project.write("src/constants.py", "FACTOR = 0.9\n")
    project.write("docs/data.txt", "four")
    codes = (
        "import constants",
        "import os, constants\nos.environ.get('BOOK_FLAG')",
        "open('docs/data.txt').read()\nimport constants",
    )
    _, run = of_blocks(project, *codes)
    assert [["src/constants.py"], [], ["docs/data.txt"]] == [list(r.files) for r in run.reads[1:]]
    assert [[], ["BOOK_FLAG"], []] == [read.variables for read in run.reads[1:]]
    assert [["constants"], [], []] == [read.modules for read in run.reads[1:]]


def test_a_module_made_by_code_names_no_file_of_the_project():
    assert "nowhere.py" == real("nowhere.py")  # torch.classes is one: no file of this name is read


def test_what_kept_runs_tell_of_a_page_ends_before_the_first_block_that_changed(project):
    of_blocks(project, *BLOCKS)
    page = project.parse("".join(f"```python\n{c}\n```\n\n" for c in (*BLOCKS[:2], "new = 1")))
    assert {1: "1", 2: "2"} == cache.known(project.config, page, "").outputs
    page = project.parse("```python\nprint('another')\n```\n")
    assert {} == cache.known(project.config, page, "").outputs


def test_what_was_undone_is_recalled(book):
    for new in ("0.8", "0.7"):
        edit(book, "src/constants.py", "0.9", new)
        assert ["docs/page.md"] == ran(book)
        edit(book, "src/constants.py", new, "0.9")
        assert [] == ran(book)
    edit(book, "src/constants.py", "0.9", "0.8")
    assert [] == ran(book)


def test_a_block_that_is_shown_only_changes_no_run(project):
    of_blocks(project, *BLOCKS)
    shown = '```python exec="off" reason="it would take an hour"\ntrain()\n```\n\n'
    project.write("docs/page.md", shown + project.read())
    result = project.check().results["docs/page.md"]
    assert result.cached
    assert {2: "1", 3: "2", 4: "3"} == result.run.outputs


# The folder.


def entries(project):
    return sorted((project.root / ".driftproof/runs").glob("*/*.json"))


def cut_in_half(content):
    return content[: len(content) // 2]


def flip_a_digit(content):
    return content.replace(b"0.0646", b"0.0647")


def one_more_line(content):
    return content + b"\n{}"


@pytest.mark.parametrize(
    "damage",
    [
        cut_in_half,
        flip_a_digit,
        one_more_line,
        lambda content: b"",
        lambda content: bytes(len(content)),
        lambda content: os.urandom(len(content)),
    ],
    ids=["half", "digit", "line", "empty", "zeros", "random"],
)
def test_a_damaged_entry_is_a_miss(book, damage):
    (entry,) = [path for path in entries(book) if "page" in path.parent.name]
    entry.write_bytes(damage(entry.read_bytes()))
    report = book.check()
    assert ([], False) == (report.problems, report.results["docs/page.md"].cached)
    assert [] == ran(book)


def test_what_a_killed_build_left_half_written_is_ignored(book):
    for entry in entries(book):
        (entry.parent / f".{entry.name}.x1y2").write_bytes(cut_in_half(entry.read_bytes()))
        entry.unlink()
    assert ["docs/other.md", "docs/page.md"] == ran(book)
    assert [] == ran(book)


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    file = tmp_path / "entry"
    file.write_text("before")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(kept.os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        kept.write_aside(file, b"after")
    assert {"entry": "before"} == {p.name: p.read_text() for p in tmp_path.iterdir()}


@pytest.mark.parametrize("stand_in", [".driftproof", ".driftproof/runs"])
def test_a_cache_that_cannot_be_written_is_said_and_harmless(book, stand_in):
    book.configure(clean_state="state:clean", variables=["BOOK_*"], cache="blocked")
    (book.root / stand_in.replace(".driftproof", "blocked")).parent.mkdir(exist_ok=True)
    (book.root / stand_in.replace(".driftproof", "blocked")).write_text("a file")
    report = book.check()
    assert [] == report.problems
    notes = [note.message for note in report.notes]
    assert 2 == len([note for note in notes if "cannot keep runs in blocked/" in note])
    assert 3 == report.counts["agreed"]


def test_two_checks_at_once_agree(book):
    for entry in entries(book):
        entry.unlink()
    reports = []
    threads = [threading.Thread(target=lambda: reports.append(book.check())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [[]] * 3 == [report.problems for report in reports]
    assert 1 == len({tuple(r.results["docs/page.md"].run.outputs.items()) for r in reports})
    assert [] == ran(book)


def test_a_moved_checkout_keeps_its_runs(book, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "book"
    book.root.rename(elsewhere)
    book.root = elsewhere
    assert [] == ran(book)


def test_a_folder_restored_elsewhere_with_other_times_is_used(book, tmp_path_factory):
    for entry in entries(book):
        assert str(book.root) not in entry.name + entry.read_text()
    elsewhere = Path(shutil.copytree(book.root, tmp_path_factory.mktemp("clone") / "book"))
    for path in elsewhere.rglob("*"):
        os.utime(path, (1e9, 1e9))
    book.root = elsewhere
    assert [] == ran(book)


def test_old_entries_of_a_page_go_and_those_of_others_stay(book):
    book.write("docs/page.notes.md", "```python\nprint('notes')\n```\n\n```output\nnotes\n```\n")
    assert ["docs/page.notes.md"] == ran(book)
    for number in range(12):
        book.write("docs/page.md", f"```python\nprint({number})\n```\n")
        book.check()
    assert 10 == len(entries(book))
    assert [] == ran(book)
