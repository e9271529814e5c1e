"""Claims about recording: it accepts what a run printed, and touches nothing else."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from driftproof.machine import version
from driftproof.problem import DriftproofError
from driftproof.reader import clean

STAMP = re.compile(rb"(?m)^recorded: (?!long ago).*?(?=\r?$)")
DRIFTED = "---\nrecorded: long ago\n---\n\n```python\nprint(26)\n```\n\n```output\n25\n```\n"


def unstamped(page: bytes) -> bytes:
    return STAMP.sub(b"recorded: long ago", page)


def raw(project) -> bytes:
    return (project.root / "docs/page.md").read_bytes()


# Whatever is printed, wherever the block stands, however the lines end


PRINTED = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *(
                    "",
                    "   ",
                    "```",
                    "````",
                    "``` ",
                    "  ```",
                    "```output",
                    "```python",
                    "~~~",
                    "> ```",
                ),
                *('--8<-- "note.md"', ";--8<--", "<!--", "-->", "<b>&amp;</b>", "</div>", "<data"),
                *(
                    "a\tb",
                    "\tb",
                    "trailing  ",
                    "\u00a0",
                    "\u3000wide",
                    "é ∑ 🙂",
                    "x" * 3000,
                    "> quote",
                ),
                *("---", "# Title", "$$", "`", "{: .x }", "- item", "| a | b |", '=== "A"', "0.25"),
                *("50%\r100%", "\x1b[31mred\x1b[0m", "\x00\x02", "\u2028", "\x0c", "\\", "[^1]: x"),
            ]
        ),
        st.text(max_size=20),
    ),
    min_size=1,
    max_size=6,
).map("\n".join)
PLACES = [
    ("", ""),
    ("!!! note\n\n", "    "),
    ('=== "A"\n\n', "    "),
    ("- item\n\n    1. inner\n\n", "        "),
    ("", "> "),
    ("", "> > "),
    ("> - item\n>\n", ">     "),
    ("- item\n\n", "  "),
]
ENDINGS = st.one_of(
    st.just(["\n"]), st.just(["\r\n"]), st.lists(st.sampled_from(["\n", "\r\n"]), min_size=9)
)


def indented(prefix: str, lines: list[str]) -> list[str]:
    return [(prefix + line).rstrip() for line in lines]


def ended(text: str, endings: list[str]) -> bytes:
    lines = text.split("\n")
    return "".join(
        line + endings[i % len(endings)] if i + 1 < len(lines) else line
        for i, line in enumerate(lines)
    ).encode()


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(PRINTED, st.sampled_from(PLACES), ENDINGS, st.sampled_from(["```", "~~~", "````"]))
def test_recording_changes_only_what_stands_between_the_fences(
    project, printed: str, place: tuple[str, str], endings: list[str], ticks: str
):
    expected = clean(printed)
    assume(expected)
    before, prefix = place
    block = indented(prefix, ["```python", f"print({printed!a})", "```", ""])
    old = indented(prefix, [f"{ticks}output", "old", "", "text", ticks])
    head = f"---\nrecorded: long ago\n---\nText.\n\n{before}" + "\n".join(block)
    tail = "\nMore.\n\n<!-- end -->"
    page = ended("\n".join([head, *old, tail]), endings)
    (project.root / "docs/page.md").write_bytes(page)
    project.record()
    recorded = raw(project)
    first, last = len(head.split("\n")), len(tail.split("\n"))
    lines = unstamped(recorded).split(b"\n")
    assert page.split(b"\n")[:first] == lines[:first]
    assert page.split(b"\n")[-last:] == lines[-last:]
    opening, closing = page.split(b"\n")[first], page.split(b"\n")[-last - 1]
    longer = lines[-last - 1].strip(b"> \r").decode()
    assert longer.startswith(ticks)
    assert opening.replace(ticks.encode(), longer.encode()) == lines[first]
    assert closing.replace(ticks.encode(), longer.encode()) == lines[-last - 1]
    assert not any(line.rstrip(b"\r").endswith(b" ") for line in lines[first:-last])
    assert expected == project.parse().blocks[0].output.text
    assert [] == project.check().problems
    again = project.record()
    assert ([], [], {}) == (again.changes, again.written, again.left)
    assert recorded == raw(project)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(PRINTED, st.sampled_from(PLACES), ENDINGS, st.sampled_from(["", "\n", "\nText.\n"]))
def test_a_new_output_is_put_right_after_its_block(
    project, printed: str, place: tuple[str, str], endings: list[str], tail: str
):
    assume(clean(printed))
    before, prefix = place
    block = indented(prefix, ["```python", f"print({printed!a})", "```"])
    head = f"---\nrecorded: long ago\n---\n{before}" + "\n".join(block)
    page = ended(head + tail, endings)
    (project.root / "docs/page.md").write_bytes(page)
    project.record()
    recorded = unstamped(raw(project))
    count = len(head.split("\n"))
    rest = page.split(b"\n")[count:]
    lines = recorded.split(b"\n")
    assert rest == lines[len(lines) - len(rest) :]
    assert page.split(b"\n")[: count - 1] == lines[: count - 1]
    assert page.split(b"\n")[count - 1].rstrip(b"\r") == lines[count - 1].rstrip(b"\r")
    assert b"\r" not in recorded.replace(b"\r\n", b"")
    if len(set(endings)) == 1:
        assert {ending.encode() for ending in endings} == set(re.findall(rb"\r?\n", recorded))
    assert clean(printed) == project.parse().blocks[0].output.text
    assert [] == project.check().problems
    assert [] == project.record().written


def test_only_drifted_outputs_and_the_stamp_change(project):
    text = (
        "---\ntitle: x\n---\n\nText.\n\n"
        "```python\nprint(1, 0.25)\n```\n\n```output\n1     0.25\n```\n\n"
        "~~~python\nprint(26)\n~~~\n\n~~~output\n25\n~~~\n\n"
        "```python\nprint('same')\n```\n\n```output\nsame\n\n```\n"
    )
    project.write("docs/page.md", text)
    done = project.record()
    assert [("docs/page.md", 20, "25", "26")] == [
        (change.path, change.line, change.old, change.new) for change in done.changes
    ]
    assert ["docs/page.md"] == done.written
    stamp = project.read().split("\n")[1]
    assert stamp.startswith("recorded: Python 3")
    assert text.replace("25\n~~~", "26\n~~~").replace("title", f"{stamp}\ntitle") == project.read()


def test_a_change_tells_old_new_and_by_how_much(project):
    project.write("docs/page.md", DRIFTED.replace("25\n", "25.0 a\n").replace("26", "'26.0 a'"))
    (change,) = project.record().changes
    assert (10, "25.0", "26.0") == (change.line, change.old, change.new)
    assert 1 / 26 == pytest.approx(change.relative)


def test_an_output_that_agrees_is_left_as_it_is_written(project):
    text = DRIFTED.replace("26", "'−0.0  1.5'").replace("25\n", "0.0 1.5   \n")
    project.write("docs/page.md", text)
    assert [] == project.record().changes
    assert text == project.read()


# The stamp


@pytest.mark.parametrize(
    ("front", "stamped"),
    [
        ("", "---\nrecorded: long ago\n---\n\n"),
        ("---\n---\n", "---\nrecorded: long ago\n---\n"),
        ("---\ntitle: x\n---\n", "---\nrecorded: long ago\ntitle: x\n---\n"),
        ("---\ntitle: x\nrecorded: y\n---\n", "---\ntitle: x\nrecorded: long ago\n---\n"),
        ("---\n\nText.\n\n---\n", "---\nrecorded: long ago\n---\n\n---\n\nText.\n\n---\n"),
        ("\ufeff", "\ufeff---\nrecorded: long ago\n---\n\n"),
        ("\ufeff---\ntitle: x\n---\n", "\ufeff---\nrecorded: long ago\ntitle: x\n---\n"),
    ],
)
def test_the_stamp_has_one_place(project, front: str, stamped: str):
    rest = DRIFTED.partition("\n\n")[2]
    for ending in ("\n", "\r\n"):
        project.write("docs/page.md", (front + rest).replace("\n", ending))
        assert ["docs/page.md"] == project.record().written
        expected = (stamped + rest.replace("25", "26")).replace("\n", ending)
        assert expected.encode() == unstamped(raw(project))
        assert [] == project.record().written


def test_the_stamp_names_versions_processor_threads_seconds_and_day(project):
    project.write("src/own.py", "import numpy\n")
    project.write("docs/page.md", "```python\nimport own, json, hypothesis as h\nprint(1)\n```\n")
    project.record()
    stamp = project.read().split("\n")[1]
    form = r"recorded: Python V, hypothesis V, numpy V; .+, \d+ threads?, 0\.\d CPU s; "
    form += r"\d{4}-\d\d-\d\d"
    assert re.fullmatch(form.replace("V", r"[\d.]+"), stamp)


def test_drift_after_an_upgrade_names_the_versions(project):
    same = f"hypothesis {version('hypothesis')}"
    old = f"Python 3.1.4, numpy 1.0.0, {same}, gone-away 2.0; x86_64; 2020-01-02"
    project.write("docs/page.md", DRIFTED.replace("long ago", old))
    (problem,) = project.check().problems
    assert ("recorded: 25", "printed:  26") == problem.detail[:2]
    assert problem.detail[2].startswith("recorded with Python 3.1.4, ran with Python 3.")
    assert problem.detail[3].startswith("recorded with numpy 1.0.0, ran with numpy 2.")
    assert ("recorded with gone-away 2.0, ran with gone-away (missing)",) == problem.detail[4:]


def test_a_page_of_prose_is_not_stamped(project):
    project.write("docs/page.md", "# Title\n\nText.\n")
    assert [] == project.record().written


# Sealed outputs: tolerance and measurement


def test_a_tolerance_is_sealed_and_the_seal_breaks_with_code_or_record(project):
    text = DRIFTED.replace("26", "0.251").replace("25\n", "0.250\n")
    text = text.replace("```output", '```output rtol="0.01" because="float32"')
    project.write("docs/page.md", text)
    (problem,) = project.check().problems
    assert (9, "seal") == (problem.line, problem.code)
    assert "run `driftproof record docs/page.md`" in problem.hint
    project.record()
    sealed = project.read()
    assert re.search(r'(?m)^```output rtol="0.01" because="float32" code="[0-9a-f]{8}"$', sealed)
    assert [] == project.check().problems
    assert [] == project.record().written
    for old, new in (("0.251)", "0.2511)"), ("\n0.251\n", "\n0.252\n")):
        project.write("docs/page.md", sealed.replace(old, new))
        assert ["seal"] == [problem.code for problem in project.check().problems]
    project.write("docs/page.md", sealed.replace("0.251)", "0.2511)"))
    project.record()
    assert [] == project.check().problems


def test_braces_keep_their_form_when_the_seal_is_written(project):
    text = DRIFTED.replace("```output", "```{.output rtol='0.01' because='float32' }")
    project.write("docs/page.md", text.replace("\n", "\r\n"))
    project.record()
    form = r"(?m)^```\{\.output rtol='0\.01' because='float32' code=\"[0-9a-f]{8}\"\}\r$"
    assert re.search(form, project.read())
    assert [] == project.check().problems


def test_a_measurement_is_recorded_when_its_code_changes_and_not_when_its_digits_do(project):
    text = DRIFTED.replace("print(26)", "import time\nprint(time.perf_counter())")
    text = text.replace("```output", '```output measured="?"')
    project.write("docs/page.md", text)
    assert ["seal"] == [problem.code for problem in project.check().problems]
    project.record()
    recorded = project.read()
    assert re.search(r'```output measured=".+ · \d{4}-\d\d-\d\d" code="[0-9a-f]{8}"\n', recorded)
    (project.root / ".driftproof").rename(project.root / "elsewhere")
    assert [] == project.check().problems
    assert [] == project.record().written
    assert recorded == project.read()
    project.write("docs/page.md", recorded.replace("print(time", "print(2 * time"))
    assert ["seal"] == [problem.code for problem in project.check().problems]
    project.record()
    assert [] == project.check().problems


def test_what_needs_another_device_is_left_alone(project):
    sealed = '```output device="cuda"\n```\n'
    text = f"---\nrecorded: long ago\n---\n\n```python\nprint(1 / 0)\n```\n\n{sealed}"
    project.write("docs/page.md", text)
    report = project.check()
    assert [] == report.problems
    assert "no recording from a cuda device exists yet" == report.notes[0].message
    assert "1 not verified here (other device)" in report.summary
    assert [] == project.record().written
    assert text == project.read()


# Bound numbers and programs


def test_bound_numbers_are_rewritten_in_place(project):
    text = (
        "---\nrecorded: long ago\n---\n\n```python\nx, y = 0.0646, 2101248\n```\n\n"
        '| <data value="x">1.5%</data> | <data value="y">1,000</data> and\n'
        '<data rtol="0.1" because="b" value="x">0.06</data> stays.\n'
    )
    project.write("docs/page.md", text)
    done = project.record()
    assert [(9, "1.5%", "6.5%"), (9, "1,000", "2,101,248")] == [
        (change.line, change.old, change.new)
        for change in sorted(done.changes, key=lambda change: len(change.old))
    ]
    expected = text.replace("1.5%", "6.5%").replace("1,000", "2,101,248")
    assert expected.encode() == unstamped(raw(project))


def test_a_program_is_filled_in_and_run(project):
    program = '# --8<-- [start:a]\n"""Writes:\n\n```\nx\n```\n"""\nprint(26)\n# --8<-- [end:a]\n'
    project.write("snippets/a.py", program)
    for before, prefix in (("", ""), ("- item\n\n", "    "), ("", "> ")):
        fence = indented(prefix, ['```python file="a.py:a"', "```"])
        text = "---\nrecorded: long ago\n---\n" + before + "\n".join(fence) + "\n"
        project.write("docs/page.md", text)
        assert ["file"] == [problem.code for problem in project.check().problems]
        project.record()
        page = project.parse()
        assert [] == page.problems
        assert "\n".join(program.split("\n")[1:-2]) == "\n".join(page.blocks[0].fence.body)
        assert "26" == page.blocks[0].output.text
        assert [] == project.check().problems
        assert [] == project.record().written


def test_a_program_with_tabs_is_filled_in_for_good(project):
    project.write("snippets/a.py", "if True:\n\tx = 'a\tb' \n")
    for prefix in ("", "> "):
        fence = indented(prefix, ['```python file="a.py"', "```"])
        project.write("docs/page.md", "\n".join(fence) + "\n")
        project.record()
        assert [] == project.check().problems
        assert [] == project.record().written


# Refusals


def test_recording_is_refused_under_ci(project, monkeypatch):
    project.write("docs/page.md", DRIFTED)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(DriftproofError, match="refused under CI"):
        project.record()
    assert DRIFTED == project.read()


@pytest.mark.parametrize(
    "later",
    [
        "```python\n1 / 0\n```\n",
        "```python\nexit()\n```\n",
        "```python\ndef (\n```\n",
        '```python raises="ValueError"\nprint(1)\n```\n',
        '```python timeout="0.2"\nwhile True: pass\n```\n',
        "```python\nopen\n",
        '```python sesion="x"\nprint(1)\n```\n',
        "```python\nprint(1)\n```\n\nText.\n\n```output\n2\n```\n",
        '```python file="missing.py"\n```\n',
        '<data value="x>3</data>\n',
    ],
)
def test_a_page_with_a_failing_or_mistaken_block_is_left_as_it_is(project, later: str):
    text = f"{DRIFTED}\n{later}"
    project.write("docs/page.md", text)
    project.write("docs/other.md", DRIFTED)
    done = project.record()
    assert text == project.read()
    assert ["docs/other.md"] == done.written
    ((path, problems),) = done.left.items()
    assert "docs/page.md" == path
    assert problems
    assert all(problem.line > 11 for problem in problems)


def test_a_page_that_is_not_utf_8_is_left_as_it_is(project):
    page = DRIFTED.encode() + b"Z\xfcrich\n"
    (project.root / "docs/page.md").write_bytes(page)
    project.write("docs/other.md", DRIFTED)
    done = project.record()
    assert page == raw(project)
    assert ["encoding"] == [problem.code for problem in done.left["docs/page.md"]]
    assert ["docs/other.md"] == done.written


def test_only_the_pages_named_are_recorded(project):
    project.write("docs/page.md", DRIFTED)
    project.write("docs/other.md", DRIFTED)
    assert ["docs/other.md"] == project.record("docs/other.md").written
    assert DRIFTED == project.read()


def test_a_block_that_declares_its_exception_shows_it(project):
    text = '```python raises="ValueError"\nprint("before")\nint("x")\n```\n'
    project.write("docs/page.md", text)
    project.record()
    message = "ValueError: invalid literal for int() with base 10: 'x'"
    assert project.read().endswith(f"\n```output\nbefore\n{message}\n```\n")
    assert [] == project.check().problems


def test_permissions_are_kept(project):
    project.write("docs/page.md", DRIFTED)
    (project.root / "docs/page.md").chmod(0o640)
    project.record()
    assert 0o640 == (project.root / "docs/page.md").stat().st_mode & 0o777
    assert ["page.md"] == [path.name for path in (project.root / "docs").iterdir()]
