"""The navigation looks as it does without the plugin, from every page, and is drawn less often."""

import jinja2
import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.structure.nav import Link, Section
from mkdocs.utils.templates import url_filter

from driftproof.navigation import TEMPLATE, Branches

PAGES = (
    "index",
    "words",
    "a/index",
    "a/one",
    "a/two",
    "a/one/deep",
    "b/three",
    "b/alone",
    "hidden",
)
NAV = """\
nav:
  - index.md
  - Words: words.md
  - Part:
      - a/index.md
      - a/one.md
      - Inner:
          - a/one/deep.md
          - a/two.md
          - a/four.md
  - Other:
      - b/three.md
      - Again: a/two/
      - By name: a/two/#below
      - Up: ../b/three/
      - Absolute: /b/three/
      - Elsewhere: https://example.org/
  - Alone: b/alone.md
validation: {nav: {not_found: ignore, absolute_links: ignore}}
"""
DRAWS = """\
{{% macro render(item, path, level) %}}
{{{{ item.title|drawn }}}} {{{{ item.children[0].url|url }}}} {shown}
{{% endmacro %}}"""
NAV_TEMPLATE = f"""\
{{% import "{TEMPLATE}" as item with context %}}
{{%- for each in nav %}}{{{{ item.render(each, "__nav_" ~ loop.index, 1) }}}}{{% endfor %}}"""


@pytest.fixture
def book(tmp_path):
    for page in PAGES:
        file = tmp_path / f"docs/{page}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# Of {page}\n\n## Below\n\nWords.\n")
    (tmp_path / "theme/partials").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[tool.driftproof]\n")
    return tmp_path


def built(book, plugins, features=(), settings=""):
    """Build the book; return its pages by their paths in the site."""
    text = f"site_name: Book\n{NAV}{settings}\nplugins: {plugins}\n"
    text += "markdown_extensions: [pymdownx.superfences]\n"
    text += f"theme: {{name: material, font: false, features: {list(features)}, custom_dir: theme}}"
    (book / "mkdocs.yml").write_text(text)
    site = book / ("ours" if "driftproof" in plugins else "plain")
    config = load_config(str(book / "mkdocs.yml"), site_dir=str(site))
    config.plugins.on_startup(command="build", dirty=False)
    build(config)
    config.plugins.on_shutdown()
    return {page.relative_to(site): page.read_text() for page in site.rglob("*.html")}


@pytest.mark.parametrize("settings", ["", "use_directory_urls: false"])
@pytest.mark.parametrize(
    "features",
    [(), ("sections",), ("tabs", "sections"), ("indexes", "prune"), ("expand",)],
    ids=" ".join,
)
def test_every_page_shows_the_navigation_of_plain_mkdocs(book, features, settings):
    features = [f"navigation.{name}" for name in features]
    plain, ours = (built(book, plugins, features, settings) for plugins in ("[]", "[driftproof]"))
    assert len(PAGES) + 1 == len(plain)
    assert plain == ours


@pytest.mark.parametrize("shown", ["page.title", "page['title']", "[page][0].title", "page.url"])
def test_a_template_of_the_project_can_show_more_of_the_page(book, shown):
    template = f"{{% macro render(item, path, level) %}}{{{{ {shown} }}}}{{% endmacro %}}"
    (book / "theme" / TEMPLATE).write_text(template)
    assert built(book, "[]") == built(book, "[driftproof]")


class Drawing:
    """A theme whose template of branches counts what it draws."""

    def __init__(self, folder, shown, urls):
        (folder / "partials").mkdir()
        (folder / TEMPLATE).write_text(DRAWS.format(shown=shown))
        (folder / "nav.html").write_text(NAV_TEMPLATE)
        self.drawn = []
        self.urls = urls
        self.nav = [Section(f"to {url}", [Link(url, url)]) for url in urls]
        env = jinja2.Environment(loader=jinja2.FileSystemLoader(folder))
        env.filters["drawn"] = lambda title: self.drawn.append(title) or title
        branches = Branches(self.nav)
        env.filters["url"] = url_filter
        for _ in range(2000):  # as often as the template is asked for
            branches.draw_once(env.get_template(TEMPLATE))
        self.template = env.get_template("nav.html")

    def seen_from(self, url, **others):
        """Draw the navigation as it is seen from the page at this address."""
        for index, item in enumerate(self.nav):
            item.active = url in self.urls and index == self.urls.index(url)
        return self.template.render(page=Link("page", url), nav=self.nav, base_url="", **others)


def test_a_branch_is_drawn_once_for_the_pages_of_a_folder(tmp_path):
    drawing = Drawing(tmp_path, "", [f"a/{name}/" for name in "vwxyz"])
    for name in "vwxyz":
        drawing.seen_from(f"a/{name}/")
    assert 5 + 5 == len(drawing.drawn)  # each once as the page's own, and once as another


@pytest.mark.parametrize(
    ("first", "second", "shares"),
    [
        ("b/c/", "b/d/", True),
        ("b/c/", "b/d.html", False),  # is a file in the folder above
        ("b/c/", "b/c/d.html", True),
        ("b/c/", "b/c/d/", False),
        ("a/y/", "a/z/", True),
        ("a/y/", "a/x/", False),  # one address lies below the second
        ("a/y/", "a/twice/", False),  # one link leads to the second and is not it
        ("words/", "./", False),
        ("index.html", "./", True),
    ],
)
def test_pages_share_what_they_see_alike(tmp_path, first, second, shares):
    urls = ["a/x/below/", "a/twice/", "a/twice/", "https://example.org/a/", "q/"]
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    drawing, other = Drawing(tmp_path / "one", "", urls), Drawing(tmp_path / "other", "", urls)
    drawing.seen_from(first)
    before = len(drawing.drawn)
    assert other.seen_from(second) == drawing.seen_from(second)
    assert shares is (before == len(drawing.drawn))


def test_what_a_page_sets_is_part_of_what_is_seen(tmp_path):
    drawing = Drawing(tmp_path, "{{ features }}", ["a/x/"])
    assert "to a/x/ ../../a/x/ 1" == drawing.seen_from("b/y/", features=1).strip()
    assert "to a/x/ ../../a/x/ 2" == drawing.seen_from("b/z/", features=2).strip()


@pytest.mark.parametrize("shown", ["{{ page.title }}", "{{ page['url'] }}", "{{ page|string }}"])
def test_a_theme_that_shows_more_of_the_page_draws_everything(tmp_path, shown):
    drawing = Drawing(tmp_path, shown, ["a/x/", "a/y/"])
    drawing.seen_from("b/y/")
    drawing.seen_from("b/z/")
    assert 4 == len(drawing.drawn)
