"""Pages under pytest: one test a block, run by the same runner, judged by the same words."""

import re
from pathlib import Path

import pytest

FAILING = sorted((Path(__file__).parent / "failing/docs").glob("*.md"))


def run_tests(book, *arguments):
    """Run the tests of a book; hypothesis has no part in them and loads slowly."""
    without = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
    return book.command("pytest", "--markdown-docs", "-v", *without, *arguments)


def verdict(output, test):
    found = re.search(rf"{re.escape(test)} ([A-Z]+)", output)
    assert found, f"{test} was not collected:\n{output}"
    return found[1]


@pytest.fixture(scope="module")
def failed(new_project):
    """The tests of a book of pages that fail, each in its own way."""
    book = new_project()
    book.add_failing()
    return run_tests(book)


@pytest.mark.parametrize("file", FAILING, ids=lambda file: file.stem)
def test_a_failing_block_is_a_failing_test_at_its_true_line(failed, file):
    where, message = re.findall(r'^fails: "(\S+) (.*)"$', file.read_text(), re.MULTILINE)[0]
    place = where if ":" in where else f"docs/{file.name}:{where}"
    assert f"{place}: {message}" in failed.stdout
    assert 1 == failed.returncode


def test_each_failure_is_reported_once(failed):
    for code in ("TypeError: object of type", "SystemExit: 0", "ZeroDivisionError: division"):
        assert 1 == len(
            re.findall(rf"^docs/\S+:\d+: {code}.*\[block-failed\]", failed.stdout, re.M)
        )


def test_no_test_reports_the_tool(failed):
    for name in ("worker.py", "runner.py", "pytest_plugin.py"):
        assert name not in failed.stdout


def test_blocks_before_and_after_a_failing_one_have_verdicts_of_their_own(failed):
    assert "PASSED" == verdict(failed.stdout, "docs/second-block.md::[CodeFence#1][line:5]")
    assert "FAILED" == verdict(failed.stdout, "docs/second-block.md::[CodeFence#2][line:20]")
    assert "FAILED" == verdict(failed.stdout, "docs/endless-loop.md::[CodeFence#2][line:11]")
    assert "docs/endless-loop.md:11: the block did not run" in failed.stdout


BOOK = """\
# Page

```python
open({count!r}, "a").write("first ")
share = 0.0646
print("1.5")
```

```output
1.5
```

=== "Tab"

    ```python
    open({count!r}, "a").write("second ")
    print("fine", share)
    ```

    ```output
    fine 0.0646
    ```

It is <data value="share">6.5%</data>.

```python exec="off" reason="needs a cluster"
launch()
```

<!--
```python
never = commented
```
-->

```python
raise SystemError
```

```output device="cuda"
```
"""


@pytest.fixture(scope="module")
def held(new_project, new_outside):
    """A book that holds, its tests, build and list, and how often its blocks ran."""
    book = new_project()
    count = new_outside() / "count"
    book.add_site()
    book.write("docs/index.md", BOOK.format(count=str(count)))
    book.write("docs/prose.md", "# Prose\n\nNo block at all.\n")
    book.write("README.md", "```python\nnever = run\nraise SystemError\n```\n")
    book.write(
        "src/counted.py",
        f'"""Do.\n\n```python\nopen({str(count)!r}, "a").write("doc ")\n```\n"""\n',
    )
    tests = run_tests(book)
    ran = count.read_text()
    return book, tests, ran, count


def test_a_book_that_holds_passes(held):
    _, tests, *_ = held
    assert 0 == tests.returncode, tests.stdout
    assert "PASSED" == verdict(tests.stdout, "docs/index.md::[CodeFence#1][line:3]")
    assert "PASSED" == verdict(tests.stdout, "docs/index.md::[CodeFence#2][line:15]")
    assert "SKIPPED" == verdict(tests.stdout, "docs/index.md::[CodeFence#3][line:36]")
    assert "PASSED" == verdict(tests.stdout, "docs/index.md::prose")
    assert "PASSED" == verdict(tests.stdout, "docs/prose.md::prose")
    assert "4 passed, 1 skipped" in tests.stdout


def test_only_fences_of_pages_are_tests(held):
    _, tests, *_ = held
    assert "README.md" not in tests.stdout
    assert "counted.py" not in tests.stdout


def test_a_block_runs_once_a_test_run_and_not_at_all_from_the_cache(held):
    book, _, ran, count = held
    assert "first second " == ran
    tests = run_tests(book)
    assert 0 == tests.returncode
    assert "first second " == count.read_text()


def test_tests_build_and_list_count_alike(held):
    book, tests, *_ = held
    counts = r"2 blocks expected, (\d) ran, (\d) from cache, 2 agreed; 1 bound numbers; " + (
        r'1 shown only \(exec="off"\); 1 not verified here'
    )
    build = book.command("mkdocs", "build")
    assert 0 == build.returncode, build.stdout
    assert [("2", "0")] == re.findall(counts, tests.stdout)
    assert [("0", "2")] == re.findall(counts, build.stdout)
    listed = book.command("driftproof.cli", "list").stdout
    assert "4 blocks, 3 run, 1 shown only" in listed
    assert 4 == len(re.findall(r"^docs/index.md:\d+  ", listed, re.MULTILINE))


@pytest.fixture(scope="module")
def mixed(new_project):
    """A book of which some pages hold, and an ordinary test beside them."""
    book = new_project()
    drift = "```python\nprint(1.25)\n```\n\n```output\n1.5\n```\n\n```python\nx = 2\n```\n"
    book.write("docs/drift.md", f"{drift}\nThe answer is 42.\n\n```python\nx = 3\n```\n")
    book.write("docs/unclosed.md", "# Page\n\n```python\nprint(1)\n\nText\n")
    leaves = "import os, json\nos.environ['LEFT'] = 'x'\njson.dumps = 3"
    book.write("docs/leaves.md", f"```python\n{leaves}\n```\n")
    book.write(
        "docs/test_after.py",
        "import json, os\n\n\ndef test_clean():\n    assert 'LEFT' not in os.environ\n"
        "    assert '1' == json.dumps(1)\n",
    )
    return book, run_tests(book)


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("docs/drift.md::[CodeFence#1][line:1]", "FAILED"),
        ("docs/drift.md::[CodeFence#2][line:9]", "PASSED"),
        ("docs/drift.md::[CodeFence#3][line:15]", "PASSED"),
        ("docs/drift.md::prose", "FAILED"),
        ("docs/unclosed.md::prose", "FAILED"),
        ("docs/leaves.md::[CodeFence#1][line:1]", "PASSED"),
        ("docs/test_after.py::test_clean", "PASSED"),
    ],
)
def test_what_is_wrong_fails_its_own_test(mixed, test, expected):
    assert expected == verdict(mixed[1].stdout, test)


def test_what_is_wrong_is_said_with_page_and_line(mixed):
    _, tests = mixed
    assert 1 == tests.returncode
    assert "docs/drift.md:6: " in tests.stdout
    assert "docs/drift.md:13: 42 is neither bound, printed" in tests.stdout
    assert "docs/unclosed.md:3: the fence is never closed" in tests.stdout


def test_without_the_option_pages_are_no_tests(mixed):
    tests = mixed[0].command("pytest", "-q", "-p", "no:hypothesispytest", "-p", "no:cacheprovider")
    assert "1 passed" in tests.stdout
    assert 0 == tests.returncode


def test_a_project_without_settings_is_left_to_the_plugin_itself(new_project):
    book = new_project()
    book.write("pyproject.toml", "")
    book.write("page.md", "```python\nassert 1 + 1 == 2\n```\n")
    tests = run_tests(book)
    assert "1 passed" in tests.stdout, tests.stdout
