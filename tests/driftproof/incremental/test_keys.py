"""On what a page depends: a change of it changes the page, and no other page is made again."""

import hashlib
import os
import pickle
import subprocess
import sys

import pytest

HOOKS = "hooks: [hook.py]\n"


def with_hook(book, text):
    book.write("hook.py", text)
    book.write("mkdocs.yml", book.read("mkdocs.yml") + HOOKS)
    assert 0 == book.build().code


def test_a_sentence(light):
    light.replace("docs/other.md", "A sentence", "Another sentence")
    assert {"other.md"} == light.converted()


def test_nothing(light):
    assert set() == light.converted()
    before = light.path("site/index.html").stat()
    assert 0 == light.build().code
    assert before == light.path("site/index.html").stat()


def test_a_file_that_is_only_touched(light):
    light.path("docs/other.md").touch()
    assert set() == light.converted()


def test_a_snippet(light):
    light.replace("snippets/note.md", "A note", "My note")
    assert {"index.md"} == light.converted()


@pytest.mark.parametrize(
    ("shown", "before", "after"),
    [
        ("{% for name in page.meta %}{{ name }} {% endfor %}", "a: 1\nb: 2", "b: 2\na: 1"),
        ("{{ page.meta.day is string }}", "day: 2026-01-02", "day: '2026-01-02'"),
    ],
    ids=["order", "kind of a value"],
)
def test_what_a_template_shows_of_front_matter(light, shown, before, after):
    light.write("theme/main.html", shown)
    light.write("docs/third.md", f"---\n{before}\n---\n\n# Third\n")
    assert 0 == light.build().code
    light.write("docs/third.md", f"---\n{after}\n---\n\n# Third\n")
    light.agrees()


@pytest.mark.parametrize(
    "shown",
    ["file.page.content", "file.page['content']", "file.page|attr('content')", "file.page.toc",
     "file.page.markdown", "(pages|map(attribute='page.content')|list)"],
)  # fmt: skip
def test_what_a_template_shows_of_other_pages(light, shown):
    light.write("theme/main.html", f"{{% for file in pages %}}{{{{ {shown} }}}}{{% endfor %}}")
    assert 0 == light.build().code
    light.replace("docs/other.md", "A sentence", "Another sentence")
    light.replace("docs/other.md", "## Part", "## Part\n\n## More")
    light.agrees()


def test_what_a_template_shows_of_the_text(light):
    light.write("theme/main.html", "{{ page.markdown|length }}")
    assert 0 == light.build().code
    light.write("docs/third.md", light.read("docs/third.md") + "\n\n")
    light.agrees()


def test_front_matter_that_a_template_shows_of_other_pages(light):
    light.write("theme/main.html", "{% for file in pages %}{{ file.page.meta }}{% endfor %}")
    assert 0 == light.build().code
    light.replace("docs/index.md", "easy", "hard")
    assert {"index.md"} == light.converted()


def test_a_part_of_a_template(light):
    light.write("theme/main.html", '{% include "part.html" %}')
    light.write("theme/part.html", "before")
    assert 0 == light.build().code
    light.write("theme/part.html", "after")
    assert set() == light.converted()
    assert "after" == light.read("site/index.html")


def test_a_setting_of_an_extension(light):
    light.replace("docs/third.md", "Words.", "`Words`")
    assert 0 == light.build().code
    light.replace("mkdocs.yml", "  - attr_list", "  - toc: {permalink: true}\n  - attr_list")
    assert {"index.md", "other.md", "third.md"} == light.converted()


def test_a_setting_in_an_inherited_file(light):
    light.write("base.yml", light.read("mkdocs.yml"))
    light.write("mkdocs.yml", "INHERIT: base.yml\n")
    assert 0 == light.build().code
    light.write("base.yml", f"exclude_docs: other.md\n{light.read('base.yml')}")
    light.agrees()
    assert not light.path("site/other/index.html").exists()


def test_a_heading_that_other_pages_lead_to(light):
    light.replace("docs/other.md", "## Part", "## Piece")
    for flags in ("-q", "-q --strict", "-v", "-q"):
        warm = light.agrees(*flags.split())
        assert 1 == warm.code
        assert "docs/index.md:7: a link 'other.md#part'" in warm.said


EXTENSION = """\
from markdown import Extension
from markdown.postprocessors import Postprocessor


class Says(Postprocessor):
    def run(self, text):
        return text.replace("Words", "{word}")


class Saying(Extension):
    def extendMarkdown(self, md):
        md.postprocessors.register(Says(md), "saying", 0)


def makeExtension(**settings):
    return Saying(**settings)
"""


def test_the_code_of_an_extension_of_the_project(light):
    light.write("saying.py", EXTENSION.format(word="before"))
    light.write("mkdocs.yml", light.read("mkdocs.yml") + "  - saying\n")
    assert 0 == light.build().code
    assert "before" in light.read("site/third/index.html")
    light.write("saying.py", EXTENSION.format(word="after"))
    light.agrees()
    assert "after" in light.read("site/third/index.html")


def test_a_module_that_a_hook_imports(light):
    light.write("words.py", "WORD = 'before'\n")
    with_hook(light, "import words\ndef on_env(env, **_):\n    env.globals['word'] = words.WORD\n")
    light.write("theme/main.html", "{{ word }}")
    assert 0 == light.build().code
    light.write("words.py", "WORD = 'after'\n")
    light.agrees()
    assert "after" == light.read("site/index.html")


READS = {
    "global": "def on_env(env, **_):\n    env.globals['word'] = open({file!r}).read()\n",
    "filter": "def on_env(env, **_):\n    env.filters['say'] = lambda _: open({file!r}).read()\n",
    "context": "def on_page_context(context, **_):\n    context['word'] = open({file!r}).read()\n",
    "config": "def on_config(config):\n    config.extra['word'] = open({file!r}).read()\n",
    "page": "def on_page_content(html, page, **_):\n    page.word = open({file!r}).read()\n",
    "import": "WORD = open({file!r}).read()\ndef on_post_page(output, **_):\n    return WORD\n",
}


@pytest.mark.parametrize("where", ["word.txt", ".hidden/word.txt", "../word.txt"])
@pytest.mark.parametrize("event", READS)
def test_a_file_that_a_hook_reads(light, event, where):
    file = os.path.normpath(light.root / where)
    light.write(where, "before")
    with_hook(light, READS[event].format(file=file))
    shown = {"filter": "1|say", "page": "page.word", "config": "config.extra.word"}
    light.write("theme/main.html", f"{{{{ {shown.get(event, 'word')} }}}}")
    assert 0 == light.build().code
    assert "before" == light.read("site/index.html")
    light.write(where, "after")
    light.agrees()
    assert "after" == light.read("site/index.html")


def test_files_of_a_folder_that_a_hook_lists(light):
    light.write("data/a.txt", "")
    with_hook(
        light,
        "import os\ndef on_page_context(context, **_):\n"
        "    context['word'] = sorted(os.listdir('data'))\n",
    )
    light.write("theme/main.html", "{{ word }}")
    assert 0 == light.build().code
    light.write("data/b.txt", "")
    light.agrees()


@pytest.mark.parametrize(
    "asks",
    [
        "import subprocess\nWORD = {ask}\ndef on_post_page(output, **_):\n    return WORD\n",
        "import subprocess\ndef on_config(config):\n    config.extra['word'] = {ask}\n",
        "import subprocess\ndef on_page_context(context, **_):\n    context['word'] = {ask}\n",
        "import subprocess\ndef on_env(env, **_):\n    env.filters['say'] = lambda _: {ask}\n",
        "import subprocess\ndef on_post_build(config):\n"
        "    open(config.site_dir + '/index.html', 'w').write({ask})\n",
    ],
    ids=["import", "config", "context", "filter", "end"],
)
def test_what_a_hook_asks_another_program(light, asks):
    file = os.path.normpath(light.root / "../word.txt")
    light.write("../word.txt", "before")
    with_hook(light, asks.format(ask=f"subprocess.check_output(['cat', {file!r}], text=True)"))
    light.write("theme/main.html", "{{ config.extra.word }}{{ word }}{{ 1|say }}")
    if "say" not in asks:
        light.write("theme/main.html", "{{ config.extra.word }}{{ word }}")
    assert 0 == light.build().code
    light.write("../word.txt", "after")
    light.agrees()
    assert "after" in light.read("site/index.html")


def test_a_link_that_leads_nowhere_hides_no_other_file(light):
    light.path("docs/.#other.md").symlink_to("someone@somewhere")  # as an editor locks a file
    assert 0 == light.build().code
    assert 0 == light.build().code
    for word in ("Another", "A third"):
        for name in ("index", "other", "third"):
            light.write(f"docs/{name}.md", f"{light.read(f'docs/{name}.md')}\n{word} paragraph.\n")
            light.agrees()


def test_a_build_that_leaves_out_pages_is_not_the_site(light):
    light.replace("docs/other.md", "A sentence", "Another sentence")
    assert 0 == light.build("-q", "--dirty").code
    light.agrees()


def test_a_warning_before_the_build_fails_every_strict_one(light):
    with_hook(
        light,
        "import logging\ndef on_config(config):\n"
        "    logging.getLogger('mkdocs.hooks').warning('beware')\n",
    )
    for flags in ("-q", "--strict", "--strict", "-q --strict", "-q --strict", "-q"):
        assert (flags == "--strict") == light.agrees(*flags.split()).code


def test_a_dead_link_fails_every_build(light):
    light.replace("docs/index.md", "other.md#part", "none.md")
    for flags in ("-q", "-q", "--strict", "--strict", "-q --strict", "-v", "-v"):
        warm = light.agrees(*flags.split())
        assert 1 == warm.code
        assert "docs/index.md:7: a link 'none.md'" in warm.said


def test_an_edit_of_the_same_size_whose_time_is_set_back(light):
    times = light.path("docs/other.md").stat()
    light.agrees()
    light.replace("docs/other.md", "A sentence", "B sentence")
    os.utime(light.path("docs/other.md"), ns=(times.st_atime_ns, times.st_mtime_ns))
    light.agrees()


def test_a_page_of_the_site_that_was_changed_keeping_size_and_time(light):
    light.agrees()
    page = light.path("site/other/index.html")
    times = page.stat()
    page.write_text(page.read_text().replace("A sentence", "B sentence"))
    os.utime(page, ns=(times.st_atime_ns, times.st_mtime_ns))
    light.agrees()


@pytest.mark.parametrize(
    "damage",
    [
        lambda body: body[: len(body) // 2],
        lambda _: b"",
        lambda body: body[:-9] + b"\0" + body[-8:],
    ],
    ids=["cut", "empty", "garbled"],
)
def test_damaged_entries_are_not_believed(light, damage):
    for file in light.root.glob(".driftproof/**/*"):
        if file.is_file():
            file.write_bytes(damage(file.read_bytes()))
    light.replace("docs/other.md", "A sentence", "Another sentence")
    light.agrees()


def test_an_entry_that_would_run_code_does_not(light):
    class Runs:
        def __reduce__(self):
            return os.mkdir, (str(light.root / "ran"),)

    for file in light.root.glob(".driftproof/pages/*/*"):
        body = pickle.dumps(({}, Runs()))
        file.write_bytes(hashlib.blake2b(body, digest_size=32).digest() + body)
    light.path("docs/other.md").touch()
    light.agrees()
    assert not light.path("ran").exists()


REFERENCE = "plugins:\n  - mkdocstrings{settings}\n"


@pytest.fixture
def described(light):
    """The book with a page that describes a package."""
    light.write("src/tool/__init__.py", '"""A tool."""\n')
    light.write("src/tool/one.py", 'def one(x="a"):\n    """Return one."""\n')
    settings = ": {handlers: {python: {paths: [src], options: {show_submodules: true}}}}"
    light.replace("mkdocs.yml", "plugins:\n", REFERENCE.format(settings=settings))
    light.write("docs/third.md", "# Third\n\n::: tool\n")
    assert 0 == light.build().code
    return light


def test_a_docstring(described):
    described.replace("src/tool/one.py", "Return one", "Return the one")
    assert {"third.md"} == described.converted()
    assert "Return the one" in described.read("site/third/index.html")


def test_a_module_that_comes_and_goes(described):
    described.write("src/tool/two.py", '"""Two."""\n')
    described.agrees()
    described.path("src/tool/two.py").unlink()
    described.agrees()


def test_a_description_in_a_snippet(described):
    described.write("docs/other.md", "# Other\n\n## Part\n\n::: tool.one\n")
    described.write("snippets/note.md", "::: tool\n")
    described.write("docs/third.md", "# Third\n")
    assert 0 == described.build().code
    described.replace("src/tool/one.py", "Return one", "Return the one")
    described.agrees()


def test_how_the_code_of_signatures_is_laid_out(described):
    described.replace("mkdocs.yml", "options: {", "options: {separate_signature: true, ")
    assert 0 == described.build().code
    described.write(
        "pyproject.toml", '[tool.driftproof]\n[tool.ruff.format]\nquote-style = "single"\n'
    )
    described.agrees()


def test_descriptions_with_no_settings(light):
    light.replace("mkdocs.yml", "plugins:\n", REFERENCE.format(settings=""))
    light.write("docs/third.md", "# Third\n\n::: json.tool\n")
    assert 0 == light.build().code
    light.path("docs/third.md").touch()
    light.agrees()


PLUGIN = """\
import time
from markdown import Extension
from markdown.postprocessors import Postprocessor
from mkdocs.plugins import BasePlugin


class Counts(Postprocessor):
    def run(self, text):
        return text.replace("Words", open("count.txt").read())


class Counting(Extension):
    def extendMarkdown(self, md):
        md.postprocessors.register(Counts(md), "counts", 0)


class Stamps(BasePlugin):
    def on_config(self, config):
        {change}

    def on_page_context(self, context, **_):
        context["stamp"] = time.time_ns()
"""


def build_alone(book):
    """Build in a process that sees which plugins are installed."""
    command = [sys.executable, "-m", "mkdocs", "build", "-q"]
    subprocess.run(command, cwd=book.root, check=True)
    return book.read("site/third/index.html")


@pytest.mark.parametrize(
    "change", ["config.markdown_extensions.append(Counting())", "pass"], ids=["extends", "stamps"]
)
def test_a_plugin_of_which_nothing_is_known(light, change):
    light.write("stamps-1.0.dist-info/METADATA", "Name: stamps\nVersion: 1.0\n")
    named = "[mkdocs.plugins]\nstamps = stamps:Stamps\n"
    light.write("stamps-1.0.dist-info/entry_points.txt", named)
    light.write("stamps.py", PLUGIN.format(change=change))
    light.write("count.txt", "one")
    light.replace("mkdocs.yml", "plugins:\n", "plugins:\n  - stamps\n")
    light.write("theme/main.html", "{{ stamp }} {{ page.content }}")
    before = build_alone(light)
    light.write("count.txt", "two")
    after = build_alone(light)
    assert before.split()[0] != after.split()[0]
    assert ("two" in after) == ("append" in change)


def test_another_version_of_an_installed_distribution(light):
    light.write("tool-1.0.dist-info/METADATA", "")
    assert 0 == light.build().code
    light.path("tool-1.0.dist-info").rename(light.path("tool-2.0.dist-info"))
    assert {"index.md", "other.md", "third.md"} == light.converted()


def test_compiled_templates_do_not_lie_with_the_project(light):
    assert {"pages", "sites"} >= set(os.listdir(light.root / ".driftproof"))
    (folder,) = (path for path in light.zygote.temporary.iterdir() if "jinja" in path.name)
    assert 0o700 == folder.stat().st_mode & 0o777
