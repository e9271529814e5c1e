"""The navigation looks as it does without the plugin, from every page, and is drawn less often."""

import jinja2
import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.structure.nav import Link, Section
from mkdocs.utils.templates import url_filter

from driftproof.navigation import TEMPLATE, Branches

PAGES = """
index words a/index a/one a/two a/one/deep a/four b/three b/alone b/linked b/twice b/other
hidden hidden/below
"""
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
  - Linked: b/linked/
  - File: b/linked.html
  - First: [b/twice.md]
  - Second: [b/twice.md, Hidden: hidden/]
validation: {nav: {not_found: ignore, absolute_links: ignore}}
"""
KINDS = "[]", "[driftproof]"
HOOK = """\
from mkdocs.structure.nav import Section


def on_nav(nav, **_):
    nav.items = [Section("All", nav.items)]
    return nav
"""
DRAWS = """\
{{% macro render(item, path, level, parent) %}}
{{{{ item.title|drawn }}}} {{{{ item.children[0].url|url }}}} {shown}
{{% endmacro %}}"""
NAV_TEMPLATE = f"""\
{{% import "{TEMPLATE}" as item with context %}}
{{%- for each in nav %}}
{{{{ item.render(each, "__nav_" ~ loop.index, 1, *above) }}}}
{{%- endfor %}}"""


@pytest.fixture
def book(tmp_path):
    for page in PAGES.split():
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
    plain, ours = (built(book, plugins, features, settings) for plugins in KINDS)
    assert len(PAGES.split()) + 1 == len(plain)
    assert plain == ours


@pytest.mark.parametrize("shown", ["page.title", "page['title']", "[page][0].title", "page.url"])
def test_a_template_of_the_project_can_show_more_of_the_page(book, shown):
    template = f"{{% macro render(item, path, level) %}}{{{{ {shown} }}}}{{% endmacro %}}"
    (book / "theme" / TEMPLATE).write_text(template)
    plain, ours = (built(book, plugins) for plugins in KINDS)
    assert plain == ours


def test_a_hook_can_put_the_navigation_into_a_section_of_its_own(book):
    (book / "hook.py").write_text(HOOK)
    plain, ours = (built(book, plugins, (), "hooks: [hook.py]") for plugins in KINDS)
    assert plain == ours


class Leaf(Link):
    """A page, as far as templates of the navigation look."""

    is_page, is_link = True, False


class Drawing:
    """A theme whose template of branches counts what it draws."""

    def __init__(self, folder, pages, links=(), shown=""):
        (folder / "partials").mkdir(parents=True)
        (folder / TEMPLATE).write_text(DRAWS.format(shown=shown))
        (folder / "nav.html").write_text(NAV_TEMPLATE)
        self.drawn = []
        leaves = [*(Leaf(url, url) for url in pages), *(Link(url, url) for url in links)]
        self.nav = [Section(f"to {leaf.url}", [leaf]) for leaf in leaves]
        self.pages = dict(zip(pages, leaves, strict=False))
        env = jinja2.Environment(loader=jinja2.FileSystemLoader(folder))
        env.filters["drawn"] = lambda title: self.drawn.append(title) or title
        env.filters["url"] = url_filter
        branches = Branches(self.nav)
        for _ in range(2000):  # as often as the template is asked for
            branches.draw_once(env.get_template(TEMPLATE))
        self.template = env.get_template("nav.html")

    def seen_from(self, url, nav=None, **others):
        """Draw the navigation as it is seen from the page at this address."""
        page = self.pages.get(url) or Leaf("page", url)
        return self.template.render(page=page, nav=nav or self.nav, base_url="", **others)


def test_a_branch_is_drawn_once_for_the_pages_of_a_folder(tmp_path):
    drawing = Drawing(tmp_path, [f"a/{name}/" for name in "vwxyz"])
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
        ("a/y/", "a/x/", False),  # an address lies below the second
        ("a/y/", "a/linked/", False),
        ("a/y/", "a/twice/", False),
        ("words/", "./", False),
        ("index.html", "./", True),
    ],
)
def test_pages_share_what_they_see_alike(tmp_path, first, second, shares):
    one, other = (
        Drawing(tmp_path / name, ["a/x/below/", "a/twice/", "q/"], ["a/twice/", "a/linked/#here"])
        for name in ("one", "other")
    )
    one.seen_from(first)
    before = len(one.drawn)
    assert other.seen_from(second) == one.seen_from(second)
    assert shares is (before == len(one.drawn))


def test_a_navigation_for_one_page_alone_is_drawn_for_it(tmp_path):
    drawing = Drawing(tmp_path, ["a/x/"])
    item = Section("", [Leaf("", "a/x/")])
    for item.title in ("one", "two"):
        assert item.title in drawing.seen_from("b/y/", nav=[item])


def test_a_branch_above_or_around_the_page_is_drawn_for_it(tmp_path):
    drawing = Drawing(tmp_path, ["a/x/"], shown="{{ item.active }} {{ parent and parent.active }}")
    part = drawing.nav[0]
    for part.active in (False, True):
        assert f"{part.active}" in drawing.seen_from("b/y/")
    above = Section("above", [part])
    part.active = False
    for above.active in (False, True):
        assert f"False {above.active}" in drawing.seen_from("b/y/", above=[above])


def test_what_a_page_sets_is_part_of_what_is_seen(tmp_path):
    drawing = Drawing(tmp_path, ["a/x/"], shown="{{ features }}")
    assert "to a/x/ ../../a/x/ 1" == drawing.seen_from("b/y/", features=1).strip()
    assert "to a/x/ ../../a/x/ 2" == drawing.seen_from("b/z/", features=2).strip()


@pytest.mark.parametrize(
    "shown", ["{{ page.title }}", "{{ page['url'] }}", "{{ page|string }}", "{{ page }}"]
)
def test_a_theme_that_shows_more_of_the_page_draws_everything(tmp_path, shown):
    drawing = Drawing(tmp_path, ["a/x/", "a/y/"], shown=shown)
    drawing.seen_from("b/y/")
    drawing.seen_from("b/z/")
    assert 4 == len(drawing.drawn)
