"""What MkDocs publishes, and that it publishes nothing when a page does not hold."""

import re
import threading
import time
from pathlib import Path

import pytest

FLAGS = ["", "-q", "--strict", "-q --strict", "-v --strict"]
FAILING = sorted((Path(__file__).parent / "failing/docs").glob("*.md"))
GOOD = """\
# A page

```python
{code}
```

```output
fine 1.000
```

It is <data value="share">6.5%</data>.

```python exec="off" reason="needs a cluster"
launch()
```
"""


def good(count):
    code = f'share = 0.0646\nopen({str(count)!r}, "a").write("ran ")\nprint("fine 1.000")'
    return GOOD.format(code=code)


def build(book, *flags):
    return book.command("mkdocs", "build", *flags)


def build_in_every_way(book):
    """Build with each set of flags, over a site of before; return output and files by flags."""
    done = {}
    for flags in FLAGS:
        book.write("site/index.html", "the site of before")
        result = build(book, *flags.split())
        site = {p.relative_to(book.root).as_posix() for p in book.root.glob("site/**/*.html")}
        kept = "site/index.html" in site and book.read("site/index.html")
        done[flags] = (result.returncode, result.stdout, site, kept)
    return done


@pytest.fixture(scope="module")
def failed(new_project):
    """The builds of a book of pages that fail, each in its own way."""
    book = new_project()
    book.add_failing()
    book.add_site()
    book.write(
        "docs/index.md", "# Home\n\n```python\nprint('drift 2')\n```\n\n```output\ndrift 1\n```\n"
    )
    return build_in_every_way(book)


@pytest.mark.parametrize("flags", FLAGS)
def test_a_failing_block_fails_every_build_with_page_and_line(failed, flags):
    code, output, *_ = failed[flags]
    assert 1 == code
    for file in FAILING:
        where, message = re.findall(r'^fails: "(\S+) (.*)"$', file.read_text(), re.MULTILINE)[0]
        place = where if ":" in where else f"docs/{file.name}:{where}"
        assert f"{place}: {message}" in output
    assert "docs/index.md:8: " in output
    assert not re.search("^late line", output, re.MULTILINE)


@pytest.mark.parametrize("flags", FLAGS)
def test_a_failed_build_leaves_the_previous_site_as_it_was(failed, flags):
    *_, site, index = failed[flags]
    assert ({"site/index.html"}, "the site of before") == (site, index)


@pytest.mark.parametrize("flags", FLAGS)
def test_a_failed_build_says_how_many_blocks_ran(failed, flags):
    assert re.search(r"\d+ blocks expected, \d+ ran, \d+ from cache, \d+ agreed", failed[flags][1])


@pytest.fixture(scope="module")
def built(new_project, new_outside):
    """Two builds of a book that holds: what they said, the book, and how often its block ran."""
    book = new_project()
    book.add_site()
    count = new_outside() / "count"
    book.write("docs/index.md", good(count))
    return [build(book, "--strict"), build(book)], book, count


def test_a_book_that_holds_is_published_and_counted(built):
    (first, second), book, _ = built
    said = "1 blocks expected, 1 ran, 0 from cache, 1 agreed; 1 bound numbers; 1 shown only"
    assert (0, True) == (first.returncode, said in first.stdout), first.stdout
    said = "1 blocks expected, 0 ran, 1 from cache, 1 agreed; 1 bound numbers; 1 shown only"
    assert (0, True) == (second.returncode, said in second.stdout), second.stdout
    assert (book.root / "site/index.html").is_file()


def test_a_block_runs_once_and_not_at_all_from_the_cache(built):
    assert "ran " == built[2].read_text()


def test_the_second_build_of_a_new_book_says_that_nothing_has_changed(new_project, new_outside):
    book = new_project()
    book.add_site()
    book.write("docs/index.md", good(new_outside() / "count"))
    book.write("src/module.py", "")
    time.sleep(0.1)  # what has only just been written could change once more, unseen
    said = []
    for _ in range(2):
        said.append("nothing has changed" in build(book).stdout)
        book.write("src/__pycache__/module.cpython-311.pyc", "compiled")
    assert [False, True] == said
    book.write("src/new.py", "")
    assert "nothing has changed" not in build(book).stdout


def test_what_pages_preload_is_imported_only_where_a_block_runs(new_project, new_outside):
    book = new_project()
    book.add_site()
    book.configure(preload=["this"])  # it prints a poem when it is imported
    book.write("docs/index.md", good(new_outside() / "count"))
    poems = []
    for change in ("", "A sentence.\n", "```python\nx = 1\n```\n"):
        book.write("docs/index.md", f"{book.read('docs/index.md')}\n{change}")
        poems.append("Beautiful is better" in build(book).stdout)
    assert [True, False, True] == poems


def test_no_page_holds_a_local_path(built):
    _, book, _ = built
    for file in (book.root / "site").rglob("*"):
        text = file.read_bytes() if file.is_file() else b""
        assert str(book.root).encode() not in text
        assert b"driftproof-serve.js" not in text


def test_a_cold_and_a_warm_build_give_the_same_page(new_project, new_outside):
    book = new_project()
    book.add_site()
    book.write("docs/index.md", good(new_outside() / "count"))
    pages = []
    for _ in range(2):
        assert 0 == build(book, "-q").returncode
        pages.append(book.read("site/index.html"))
    assert pages[0] == pages[1]


LINKS = """\
# Home

See `other.md#no-such-heading` and `missing.md`, which are code.

- [wrong anchor](other.md#no-such-heading)
- [right anchor](other.md#the-cost-of-distance)
- [a block](other.md#block-1)
- [a named block](other.md#named)
- [wrong page](missing.md)
- [absolute](/other/)
- ![picture](img/none.png)
- [here](#nowhere)
"""
OTHER = """\
# Other

## The cost of distance

```python
x = 1
```

```python id="named"
y = 1
```
"""


@pytest.fixture(scope="module")
def dead_links(new_project):
    book = new_project()
    book.add_site()
    book.write("docs/index.md", LINKS)
    book.write("docs/other.md", OTHER)
    book.write("docs/chapters/index.md", "# Chapters\n")
    return build_in_every_way(book)


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize(
    ("line", "link"),
    [
        (5, "other.md#no-such-heading"),
        (9, "missing.md"),
        (10, "/other/"),
        (11, "img/none.png"),
        (12, "#nowhere"),
    ],
)
def test_a_dead_link_fails_every_build_with_page_and_line(dead_links, flags, line, link):
    code, output, *_ = dead_links[flags]
    assert 1 == code
    assert re.search(rf"docs/index.md:{line}: .*'{re.escape(link)}'", output)


@pytest.mark.parametrize("flags", FLAGS)
def test_a_link_that_leads_somewhere_is_not_reported(dead_links, flags):
    output = dead_links[flags][1]
    for link in ("the-cost-of-distance", "block-1", "named"):
        assert not re.search(rf"docs/index.md:\d+: .*{link}", output)
    assert 5 == len(re.findall(r"docs/index.md:\d+: ", output))


def test_only_a_dead_anchor_is_enough(new_project):
    book = new_project()
    book.add_site()
    book.write("docs/index.md", "# Home\n\n[wrong](other.md#no-such-heading)\n")
    book.write("docs/other.md", OTHER)
    result = build(book, "-q", "--strict")
    assert 1 == result.returncode
    assert "docs/index.md:3: " in result.stdout
    assert not list(book.root.glob("site/**/*.html"))


def test_a_block_that_the_site_does_not_render_fails_the_build(new_project):
    book = new_project()
    book.add_site()
    book.write("overrides.py", "def on_page_content(html, **_):\n    return '<p>gone</p>'\n")
    book.write("mkdocs.yml", book.read("mkdocs.yml") + "hooks: [overrides.py]\n")
    book.write("docs/index.md", OTHER)
    result = build(book, "-q")
    assert 1 == result.returncode
    assert "docs/index.md:5: this block is not on the page" in result.stdout


def test_a_page_that_a_plugin_rewrites_fails_the_build(new_project):
    book = new_project()
    book.add_site()
    book.write(
        "hook.py",
        "def on_page_markdown(markdown, **_):\n    return markdown.replace('x = 1', 'x = 2')\n",
    )
    book.write("mkdocs.yml", book.read("mkdocs.yml") + "hooks: [hook.py]\n")
    book.write("docs/index.md", OTHER)
    result = build(book, "-q")
    assert 1 == result.returncode
    assert "docs/index.md: the text that is rendered is not that of the file" in result.stdout


def test_settings_that_disagree_fail_the_build(new_project):
    book = new_project()
    book.add_site()
    book.configure(docs="pages")
    book.write("docs/index.md", OTHER)
    result = build(book, "-q")
    assert 1 == result.returncode
    assert "pyproject.toml has docs" in result.stdout


def test_fences_in_docstrings_and_nested_conversions_never_run(new_project, new_outside):
    book = new_project()
    count = new_outside() / "count"
    book.add_site()
    settings = book.read("mkdocs.yml").replace(
        "  - driftproof\n",
        "  - mkdocstrings:\n"
        "      handlers: {python: {paths: [src], options: {show_source: false}}}\n"
        "  - driftproof\n",
    )
    book.write("mkdocs.yml", settings)
    doc = (
        f"Count.\n\n    ```python\n    open({str(count)!r}, 'a').write('docstring ')\n    ```\n    "
    )
    book.write("src/counted.py", f'def count():\n    """{doc}"""\n')
    book.write(
        "docs/index.md",
        "# Reference\n\n::: counted\n\n"
        + good(count).replace("```python\nshare", '```python source="above"\nshare'),
    )
    result = build(book, "--strict")
    assert 0 == result.returncode, result.stdout
    assert "ran " == count.read_text()
    assert "<span class=\"s1\">'docstring '</span>" in book.read("site/index.html")


def test_two_builds_at_once_give_the_same_site(new_project, new_outside):
    book = new_project()
    book.add_site()
    book.write("docs/index.md", good(new_outside() / "count"))
    results = {}
    threads = [
        threading.Thread(target=lambda d=d: results.update({d: build(book, "-q", "-d", d)}))
        for d in ("site-a", "site-b")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {"site-a": 0, "site-b": 0} == {d: result.returncode for d, result in results.items()}
    assert book.read("site-a/index.html") == book.read("site-b/index.html")


def test_a_heading_with_the_id_of_a_block_is_found(new_project):
    book = new_project()
    book.add_site()
    book.write("docs/index.md", '# A { #same }\n\n```python id="same"\nx = 1\n```\n')
    result = build(book, "-q")
    assert result.returncode == 1
    assert "docs/index.md:3: the id 'same' is also that of something else" in result.stdout


def test_the_markdown_of_a_page_is_published_beside_it(project):
    project.add_site()
    project.write("docs/index.md", "# Home\n\n[a page](deep/page.md)\n")
    text = "# A page\r\n\r\nIt has <data value='2 - 1'>1</data>.\r\n".replace("'", '"')
    project.write("docs/deep/page.md", text)
    result = build(project, "--strict")
    assert 0 == result.returncode, result.stdout
    assert text == project.read("site/deep/page.md")
    assert (project.root / "site/deep/page/index.html").is_file()
