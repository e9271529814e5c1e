"""Write docs/ledger.md and docs/sources.md from docs/ledger.yml and docs/sources.yml.

Run it from the project's root: `python snippets/ledger.py`. What recording wrote into the two
pages stays: bound numbers and stamps.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from driftproof.config import Config, load
from driftproof.grammar import parse_page
from driftproof.lint import checked_numbers
from driftproof.numbers import find_numbers
from driftproof.page import Page
from driftproof.snippets import read_region

# --8<-- [start: rows]
Row = dict[str, Any]


def read(file: str) -> dict[str, Row]:
    """The entries of a data file, by their id or key."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    entries = yaml.load(Path(file).read_text("utf-8"), loader)
    return {entry.get("id") or entry["key"]: entry for entry in entries}


def number(text: str, n: int) -> str:
    """The n-th number of a claim or of a check, as it stands there."""
    return find_numbers(text)[n].text


def stated(row: Row) -> str:
    """The claim as an expression over the value found here, in the signs of mathematics."""
    signs = {"<=": "≤", ">=": "≥", "==": "=", "!=": "≠", " * ": " × ", "**": "^", "'": ""}
    text = row["check"]
    for written, sign in signs.items():
        text = text.replace(written, sign)
    return text


# --8<-- [end: rows]

VERDICTS = {
    "reproduced": "The claim holds as stated.",
    "reproduced-with-conditions": "It holds under conditions, which the row names; beside the "
    "value under them stands one without.",
    "corrected": "As stated it does not hold; the row says what does.",
    "refuted": "It does not hold.",
    "citation-only": "Nothing here computes it; the row names who reports what.",
    "not-checkable": "An opinion, an illustration or a gap in the text: nothing to compute.",
}
FIELDS = {"id", "source", "claim", "verdict", "page", "note"}
TOLERANCES = {
    "exact": "exactly",
    "rounded": "to its digits",
    "range": "as a range",
}


class DataError(Exception):
    """A mistake in a data file: the file, the entry, the field and what is wrong."""


def problem(file: str, entry: str, field: str, message: str) -> DataError:
    return DataError(f"{file}: {entry!r}: {field}: {message}")


def compared(check: str, value: str) -> str:
    """Return `check` for the expression `value`, without the signs < and > that HTML keeps.

    `a <= b <= c` becomes `[a, b, c] == sorted([a, b, c])`.
    """

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return ast.parse(value, mode="eval").body if node.id == "value" else node

        def visit_Compare(self, node: ast.Compare) -> ast.expr:
            self.generic_visit(node)
            if any(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops):
                return node
            if not all(isinstance(op, ast.LtE) for op in node.ops):
                raise ValueError("compare with ==, != and <= only")
            chain = f"[{', '.join(ast.unparse(part) for part in (node.left, *node.comparators))}]"
            return ast.parse(f"{chain} == sorted({chain})", mode="eval").body

    return ast.unparse(Fill().visit(ast.parse(check, mode="eval").body))


def checked(rows: dict[str, Row], sources: dict[str, Row], pages: dict[str, Page]) -> None:
    """Raise a DataError for the first row that is not understood."""
    for name, row in rows.items():

        def wrong(field: str, message: str, name: str = name) -> DataError:
            return problem("docs/ledger.yml", name, field, message)

        for field in sorted(FIELDS - row.keys()):
            raise wrong(field, "is missing")
        if row["verdict"] not in VERDICTS:
            raise wrong("verdict", f"{row['verdict']!r} is none of {', '.join(VERDICTS)}")
        if row["source"] not in ("A", "B", "C"):
            raise wrong("source", f"{row['source']!r} is none of A, B, C")
        if row["page"] not in pages:
            raise wrong("page", f"there is no page called {row['page']!r}")
        anchors = [block.anchor for block in pages[row["page"]].blocks]
        if "block" in row and row["block"] not in anchors:
            raise wrong("block", f"no block of {row['page']!r} is called {row['block']!r}")
        if "value" in row:
            for field in sorted({"block", "shown", "check", "tolerance"} - row.keys()):
                raise wrong(field, "is missing, though the row has a value")
            if row["tolerance"] not in TOLERANCES:
                raise wrong("tolerance", f"is none of {', '.join(TOLERANCES)}")
            for field in ("value", "otherwise"):
                try:
                    compared(row["check"], row.get(field, "0"))
                except SyntaxError as error:
                    raise wrong(field, f"does not fit the check: {error.msg}") from None
                except ValueError as error:
                    raise wrong("check", str(error)) from None
        for key in row.get("cites", []):
            if key not in sources:
                raise wrong("cites", f"docs/sources.yml has no source {key!r}")


def bound(expression: str, text: str) -> str:
    return f'<data value="{expression}">{text}</data>'


def with_bounds(row: Row, text: str) -> str:
    """Replace `{shown = expression}` by a bound number; the row's own page needs no name."""

    def element(match: re.Match[str]) -> str:
        expression = match["expression"]
        named = re.match(r"[a-z0-9][a-z0-9-]*:", expression)
        return bound(expression if named else f"{row['page']}:{expression}", match["shown"])

    return re.sub(r"\{(?P<shown>[^{}]*?) = (?P<expression>[^{}]*)\}", element, text)


def with_figures(text: str, expression: str) -> str:
    """Bind each number of a text that the page can read from the data by `expression`."""
    starts = [found.start for found in find_numbers(text)]
    for found in reversed(checked_numbers(text)):
        element = bound(f"number({expression}, {starts.index(found.start)})", found.text)
        text = text[: found.start] + element + text[found.end :]
    return text


def on(row: Row, expression: str, text: str) -> str:
    """Bind a text to an expression on the row's page."""
    return bound(f"{row['page']}:{expression}", text)


def holds(row: Row, value: str) -> str:
    """Bind whether the check holds for a value, as recording will find it."""
    return on(row, compared(row["check"], value), "True")


def card(row: Row, page: Page) -> Iterator[str]:
    """Yield the lines of one row."""
    yield f'<div class="ledger {row["verdict"]}" id="{row["id"]}" markdown>'
    yield ""
    claim = with_figures(row["claim"], f"rows['{row['id']}']['claim']")
    yield f"{claim} [#](#{row['id']})"
    yield ""
    where = f"chapters/{page.slug}.md" if "chapters" in page.path else f"{page.slug}.md"
    link = f" · [decided here]({where}#{row['block']})" if "block" in row else ""
    yield f"[{spelled(row['verdict'])}](#{row['verdict']}) · source {row['source']}{link}"
    yield ""
    if "value" in row:
        check = with_figures(stated(row), f"stated(rows['{row['id']}'])")
        value, other = row["value"], row.get("otherwise", "")
        text = f"Value: {on(row, value, row['shown'])}."
        text += f" The claim over it, {TOLERANCES[row['tolerance']]}: {check}: {holds(row, value)}."
        if other:
            text += f" Otherwise: {on(row, other, row['otherwise_shown'])}: {holds(row, other)}."
        yield text
        yield ""
    cites = "".join(f" [^{key}]" for key in row.get("cites", []))
    yield with_bounds(row, row["note"]) + cites
    yield ""
    yield "</div>"
    yield ""


def title(page: Page) -> str:
    """The heading of a page; the front page stands for the argument as a whole."""
    heading = next((line for line in page.prose if line.startswith("# ")), "")
    name = heading.removeprefix("# ").partition(" {")[0]
    return "The argument as a whole" if page.slug == "index" else name


def order(config: Config) -> list[str]:
    """Slugs of the pages in the order of the navigation."""
    nav = (config.root / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    return [Path(path).stem for path in re.findall(r"[\w/.-]+\.md", nav)]


def template(config: Config, name: str) -> str:
    """A text of snippets/, with the code of its `file=` block filled in."""
    text = (config.root / "snippets" / name).read_text("utf-8")
    opening = re.search(r'^```python file="([^"]+)".*\n', text, re.MULTILINE)
    code = read_region(config, opening[1]) if opening else ""
    return text[: opening.end()] + code[0] + text[opening.end() :] if opening else text


def ledger_page(config: Config, rows: dict[str, Row], pages: dict[str, Page]) -> str:
    """The text of docs/ledger.md, with sources as footnotes."""
    places = order(config)
    count = Counter(row["page"] for row in rows.values())
    slugs = sorted(count, key=lambda s: (places.index(s) if s in places else 99, s))
    decides = ["decides: # how many rows each page decides, for its foot"]
    decides += [f"  {slug}: {count[slug]}" for slug in slugs]
    head = template(config, "ledger-head.md.in")
    lines = [head.replace("\n---\n", "\n" + "\n".join(decides) + "\n---\n", 1)]
    lines += [f'<div class="ledger-filter" id="{verdict}"></div>' for verdict in VERDICTS]
    lines += ["", "| verdict | A | B | C | all |", "| :--- | ---: | ---: | ---: | ---: |"]
    for verdict, name in [(v, f"[{spelled(v)}](#{v})") for v in VERDICTS] + [
        ("all", "[all](#rows)")
    ]:
        cells = [bound(f"count['{verdict}', '{source}']", "0") for source in ("A", "B", "C", "all")]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", '??? info "What the verdicts say"', ""]
    for verdict, meaning in VERDICTS.items():
        lines += [f"    {spelled(verdict).capitalize()}", f"    :   {meaning}", ""]
    for slug in slugs:
        lines += [f"## {title(pages[slug])} {{ #on-{slug} }}", ""]
        for row in rows.values():
            if row["page"] == slug:
                lines += card(row, pages[slug])
    lines += [template(config, "ledger-tail.md.in"), "## Sources { #sources }", ""]
    cited = dict.fromkeys(re.findall(r"\[\^([\w-]+)\]", "\n".join(lines)))
    sources = read(str(config.root / "docs/sources.yml"))
    lines += [f"[^{key}]: {reference(sources[key])}" for key in cited]
    return "\n".join(lines) + "\n"


def spelled(verdict: str) -> str:
    return verdict.replace("-", " ")


def reference(source: Row) -> str:
    """One source in a line: who, when, what, where."""
    where = f" {source['venue']}." if "venue" in source else ""
    return f"{source['authors']} ({source['year']}). {source['title']}.{where}{link(source)}"


def link(source: Row) -> str:
    if "doi" in source:
        return f" [doi:{source['doi']}](https://doi.org/{source['doi']})."
    if "arxiv" in source:
        return f" [arXiv:{source['arxiv']}](https://arxiv.org/abs/{source['arxiv']})."
    return f" [{source['url'].split('/')[2]}]({source['url']})." if "url" in source else ""


def is_source(source: Row, key: str, note: str) -> bool:
    """Whether a footnote means this source: it holds its link, or else has its key."""
    links = [str(source[field]) for field in ("doi", "arxiv", "url") if field in source]
    if "](" not in note:
        return key == source["key"]
    return any(re.sub(r"https?://(www\.)?", "", text) in note for text in links)


def footnotes(page: Page) -> dict[str, str]:
    """The footnotes that a page defines, by their key."""
    found = (re.match(r"\[\^([\w-]+)\]: (.*)", line) for line in page.prose)
    return {match[1]: match[2] for match in found if match}


def sources_page(config: Config, sources: dict[str, Row], pages: dict[str, Page]) -> str:
    """The text of docs/sources.md."""
    lines = [template(config, "sources-head.md.in")]
    places = [slug for slug in order(config) if slug in pages]
    for key, source in sorted(sources.items()):
        citing = [
            f"[{title(pages[slug])}]({pages[slug].path.removeprefix('docs/')})"
            for slug in places
            if slug not in ("ledger", "sources")
            and any(is_source(source, name, note) for name, note in footnotes(pages[slug]).items())
        ]
        lines += [f'<div class="source" id="{key}" markdown>', "", f"{reference(source)}", ""]
        lines.append(f"Checked: {source['checked']}. Cited in {', '.join(citing) or 'the ledger'}.")
        lines += ["", "</div>", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def kept(old: str, new: str) -> str:
    """Return `new` with what recording wrote into `old`: bound numbers and the stamp."""
    element = re.compile(r'<data value="([^"]*)">([^<]*)</data>')
    texts = dict(element.findall(old))
    new = element.sub(lambda m: bound(m[1], texts.get(m[1], m[2])), new)
    if found := re.search(r"(?m)^recorded: .*\n", old):
        new = new.replace("---\n", f"---\n{found[0]}", 1)
    return new


def pages_of(config: Config) -> dict[str, str]:
    """The text of both pages, by their path."""
    parsed = [parse_page(config, path) for path in config.pages()]
    pages = {page.slug: page for page in parsed}
    rows, sources = (read(str(config.root / f"docs/{name}.yml")) for name in ("ledger", "sources"))
    checked(rows, sources, pages)
    made = {
        "docs/ledger.md": ledger_page(config, rows, pages),
        "docs/sources.md": sources_page(config, sources, pages),
    }
    for path, text in made.items():
        old = config.root / path
        made[path] = kept(old.read_text("utf-8"), text) if old.is_file() else text
    return made


def main(root: Path) -> int:
    """Write both pages; return 1 where the data are wrong."""
    config = load(root)
    try:
        made = pages_of(config)
    except (DataError, yaml.YAMLError) as error:
        print(error, file=sys.stderr)
        return 1
    for path, text in made.items():
        (config.root / path).write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parent))
