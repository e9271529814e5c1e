"""The command: what it says, where, and with which status it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from driftproof import cli

HOLDS = """\
# Holds

```python
share = 0.0646
print("fine 1.5")
```

```output
fine 1.5
```

It is <data value="share">6.5%</data>.

```python exec="off" reason="needs a cluster"
launch()
```
"""
DRIFTS = "# Drifts\n\n```python\nprint(1.25)\n```\n\n```output\n1.5\n```\n"


@pytest.fixture
def book(project, monkeypatch):
    """A book of a page that holds, and the working directory in it."""
    project.write("docs/chapters/holds.md", HOLDS)
    monkeypatch.chdir(project.root)
    return project


def call(capsys, *arguments):
    """Run the command; return its status, output and errors."""
    status = cli.main(arguments)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_a_book_that_holds_is_checked_with_status_0(book, capsys):
    status, out, _ = call(capsys, "check")
    assert 0 == status
    assert (
        "1 blocks expected, 1 ran, 0 from cache, 1 agreed; 1 bound numbers; "
        '1 shown only (exec="off"); no problems\n' == out
    )
    _, out, _ = call(capsys, "check")
    assert "1 blocks expected, 0 ran, 1 from cache, 1 agreed" in out


def test_drift_is_reported_with_page_line_and_status_1(book, capsys):
    book.write("docs/drifts.md", DRIFTS)
    status, out, _ = call(capsys, "check")
    assert 1 == status
    assert out.startswith("docs/drifts.md:8: relative change")
    assert "    | recorded: 1.5\n    | printed:  1.25\n" in out
    assert "run `driftproof record docs/drifts.md`" in out
    assert "2 blocks expected, 2 ran, 0 from cache, 1 agreed" in out
    assert out.endswith("; 1 problem\n")


@pytest.mark.parametrize("name", ["drifts", "docs/drifts.md", "./docs/../docs/drifts.md"])
def test_a_page_is_named_by_its_path_or_its_name(book, capsys, name):
    book.write("docs/drifts.md", DRIFTS)
    assert 1 == call(capsys, "check", name)[0]
    assert 0 == call(capsys, "check", "holds")[0]


def test_the_working_directory_may_lie_below_the_root(book, capsys, monkeypatch):
    monkeypatch.chdir(book.root / "docs/chapters")
    assert 0 == call(capsys, "check", "holds.md")[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "nowhere"], "driftproof: nowhere is not a page under docs/"),
        (["check", "pyproject.toml"], "driftproof: pyproject.toml is not a page under docs/"),
        (["check", "/etc/hostname"], "driftproof: /etc/hostname is not a page under docs/"),
    ],
)
def test_a_wrong_page_is_refused_with_status_2(book, capsys, arguments, message):
    hint = "`driftproof list` names the pages"
    assert (2, "", f"{message} [no-page]\n    {hint}\n") == call(capsys, *arguments)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            "timeouts = 3",
            "pyproject.toml:2: [tool.driftproof] has no setting 'timeouts' [settings]\n"
            "    did you mean 'timeout'?",
        ),
        ('timeout = "3"', "timeout must be a float, not '3'"),
    ],
)
def test_wrong_settings_are_refused_with_status_2(book, capsys, settings, message):
    book.write("pyproject.toml", f"[tool.driftproof]\n{settings}\n")
    status, _, errors = call(capsys, "check")
    assert 2 == status
    assert message in errors


def test_a_folder_without_settings_is_refused_with_status_2(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, _, errors = call(capsys, "list")
    assert 2 == status
    assert "no pyproject.toml with a [tool.driftproof] table" in errors


@pytest.mark.parametrize("arguments", [[], ["build"], ["check", "--device", "tpu"]])
def test_a_wrong_call_ends_with_status_2(book, capsys, arguments):
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    assert 2 == stopped.value.code
    assert "usage: driftproof" in capsys.readouterr().err


def test_blocks_are_listed_with_place_and_reason(book, capsys):
    status, out, _ = call(capsys, "list")
    assert 0 == status
    assert [
        "docs/chapters/holds.md:3  block-1  runs",
        "docs/chapters/holds.md:14  block-2  shown only: needs a cluster",
        "2 blocks, 1 run, 1 shown only",
    ] == out.splitlines()
    assert not (book.root / ".driftproof").exists()


def test_list_says_what_is_not_of_the_grammar(book, capsys):
    book.write("docs/wrong.md", "```python exc='off'\nx\n```\n")
    status, _, errors = call(capsys, "list")
    assert 1 == status
    assert errors.startswith("docs/wrong.md:1: ")
    assert "has no option 'exc'" in errors


def test_machines_can_read_the_list_and_the_check(book, capsys):
    book.write("docs/drifts.md", DRIFTS)
    blocks = json.loads(call(capsys, "list", "--json")[1])
    assert [("docs/chapters/holds.md", 3, True), ("docs/chapters/holds.md", 14, False)] == [
        (block["page"], block["line"], block["runs"]) for block in blocks[:2]
    ]
    found = json.loads(call(capsys, "check", "--json")[1])
    assert {"found": 3, "expected": 2, "ran": 2, "agreed": 1}.items() <= found["counts"].items()
    assert [("drift", "docs/drifts.md", 8)] == [
        (problem["code"], problem["path"], problem["line"]) for problem in found["problems"]
    ]


def test_junit_has_a_case_for_each_block_and_for_the_prose(book, capsys):
    book.write("docs/drifts.md", DRIFTS)
    call(capsys, "check", "--junit", "reports/driftproof.xml")
    suites = ElementTree.parse(book.root / "reports/driftproof.xml").getroot()
    assert [
        ("docs/chapters/holds.md", "2", "0"),
        ("docs/drifts.md", "2", "1"),
    ] == [(s.get("name"), s.get("tests"), s.get("failures")) for s in suites]
    (failure,) = suites.findall(".//failure")
    assert ("drift", True) == (failure.get("type"), "docs/drifts.md:8" in (failure.text or ""))


def test_under_github_actions_problems_show_on_the_diff(book, capsys, monkeypatch):
    book.write("docs/drifts.md", DRIFTS)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    _, out, _ = call(capsys, "check")
    (line,) = [line for line in out.splitlines() if line.startswith("::error ")]
    assert line.startswith("::error file=docs/drifts.md,line=8,title=drift::relative change")
    assert "%0Arecorded: 1.5%0A" in line


def test_recording_shows_old_new_and_relative_change(book, capsys):
    book.write("docs/drifts.md", DRIFTS)
    status, out, _ = call(capsys, "record", "drifts")
    assert 0 == status
    assert "docs/drifts.md:8:  (relative change 1.7e-01)\n  - 1.5\n  + 1.25\n" in out
    assert out.endswith("wrote docs/drifts.md\n")
    assert "\n```output\n1.25\n```\n" in book.read("docs/drifts.md")
    assert (0, "nothing to record\n", "") == call(capsys, "record", "drifts")


def test_recording_is_refused_under_ci(book, capsys, monkeypatch):
    monkeypatch.setenv("CI", "true")
    status, _, errors = call(capsys, "record")
    assert 2 == status
    assert "recording is refused under CI" in errors


def test_recording_a_page_with_a_failing_block_leaves_it_and_says_why(book, capsys):
    text = "```python\nprint(1)\n```\n\n```python\n1 / 0\n```\n"
    book.write("docs/fails.md", text)
    status, _, errors = call(capsys, "record", "fails")
    assert 1 == status
    assert "docs/fails.md:6: ZeroDivisionError" in errors
    assert text == book.read("docs/fails.md")


@pytest.fixture
def stoppable(project, new_outside):
    """A check that is under way, of a page that waits with a process of its own, and a gate."""
    gate = new_outside()
    project.configure(variables=["MARK"])
    project.write("docs/holds.md", HOLDS)
    project.write(
        "docs/slow.md",
        f"""\
```python
import os, pathlib, subprocess, time
if not os.path.exists({str(gate / "open")!r}):
    subprocess.Popen(["sleep", "60"], start_new_session=True)
    pathlib.Path({str(gate / "begun")!r}).touch()
    time.sleep(60)
print("rows 5")
```

```output
rows 5
```
""",
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "driftproof.cli", "check"],
        cwd=project.root,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "MARK": str(gate)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(400):
        if (gate / "begun").exists():
            break
        time.sleep(0.05)
    yield process, gate
    process.kill()


def running(mark):
    """Return the processes in whose environment `mark` stands."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_text())
        except OSError:
            continue
    return found


def test_ctrl_c_stops_what_runs(stoppable):
    process, _ = stoppable
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=20)
    assert 10 > time.monotonic() - began
    assert (130, "", "driftproof: stopped\n") == (process.returncode, out, errors)


@pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_check_leaves_no_process_and_no_wrong_entry(project, stoppable, how):
    process, gate = stoppable
    process.send_signal(how)
    process.communicate(timeout=20)
    for _ in range(200):
        if not running(str(gate)):
            break
        time.sleep(0.05)
    assert [] == running(str(gate))
    (gate / "open").touch()
    report = project.check()
    assert [] == report.problems
    assert "rows 5" == report.results["docs/slow.md"].run.outputs[1]


# Measurements: their digits are not compared, their relations are.

MEASURED = """\
```python
import os
ratio = float(os.environ.get("BOOK_RATIO", "7.5"))
print(f"{ratio:.1f} times as fast")
assert ratio > 5
```

```output measured="a machine"
7.5 times as fast
```
"""


@pytest.fixture
def measured(book, capsys, monkeypatch):
    """A recorded measurement."""
    monkeypatch.delenv("BOOK_RATIO", raising=False)
    book.configure(variables=["BOOK_*"])
    book.write("docs/measured.md", MEASURED)
    assert 0 == call(capsys, "record", "measured")[0]
    assert 0 == call(capsys, "check")[0]
    return book


def test_the_digits_of_a_measurement_are_not_compared(measured, capsys, monkeypatch):
    monkeypatch.setenv("BOOK_RATIO", "9.9")
    status, out, _ = call(capsys, "check")
    assert 0 == status, out
    assert "2 blocks expected, 1 ran, 1 from cache, 2 agreed" in out


def test_the_relations_of_a_measurement_are_checked(measured, capsys, monkeypatch):
    monkeypatch.setenv("BOOK_RATIO", "4.9")
    status, out, _ = call(capsys, "check")
    assert 1 == status
    assert "AssertionError" in out


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("assert ratio > 5", "assert ratio > 4"),
        ("7.5 times as fast\n```", "8.5 times as fast\n```"),
    ],
    ids=["code", "text"],
)
def test_a_measurement_is_sealed(measured, capsys, old, new):
    text = measured.read("docs/measured.md")
    assert old in text
    measured.write("docs/measured.md", text.replace(old, new))
    status, out, _ = call(capsys, "check")
    assert 1 == status
    assert "the code or the recorded text changed since it was recorded [seal]" in out


def test_a_terminal_sees_a_progress_bar_that_goes_away(project, monkeypatch, capsys):
    project.write("docs/a.md", "# A\n")
    project.write("docs/b.md", "# B\n")
    monkeypatch.chdir(project.root)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert cli.main(["check"]) == 0
    shown = capsys.readouterr().err
    assert "1/2 docs/a.md" in shown
    assert "2/2 docs/b.md" in shown
    assert shown.endswith("\r\x1b[K")


def test_elsewhere_there_is_no_progress_bar(project, monkeypatch, capsys):
    project.write("docs/a.md", "# A\n")
    monkeypatch.chdir(project.root)
    assert cli.main(["check"]) == 0
    assert capsys.readouterr().err == ""


def test_a_report_and_the_summary_of_a_run_are_written(book, capsys, monkeypatch):
    book.write("docs/chapters/drifts.md", DRIFTS)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(book.write("summary.md", "before\n")))
    status, out, _ = call(capsys, "check", "--report", "made/report.json")
    assert 1 == status
    assert "1.25" in out
    assert ["1.25"] == [p["text"] for p in json.loads(book.read("made/report.json"))["proposals"]]
    assert book.read("summary.md").startswith("before\n### driftproof: 1 problem\n")


def test_a_page_that_is_left_is_not_called_recorded(book, capsys):
    book.write("docs/fails.md", "```python\n1 / 0\n```\n")
    code, out, err = call(capsys, "record", "docs/fails.md")
    assert (1, "") == (code, out)
    assert err.startswith("left docs/fails.md as it is:\ndocs/fails.md:2: ZeroDivisionError")


def test_output_that_nobody_reads_to_its_end_leaves_no_traceback(book):
    for i in range(200):
        book.write(f"docs/page{i}.md", "```python\nx = 1\n```\n" * 20)
    command = f'"{sys.executable}" -m driftproof.cli list | head -1'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (1, "") == (done.stdout.count("\n"), done.stderr)
