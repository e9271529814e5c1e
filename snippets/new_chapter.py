"""Begin a chapter: `python snippets/new_chapter.py slug title`, from the project's root.

Writes the page from snippets/chapter.md.in, gives it the last place among the chapters in the
navigation, and records it and the pages that count the chapters.
"""

import re
import sys
from pathlib import Path

from driftproof.config import Config, load
from driftproof.record import record

COUNTING = ("docs/index.md", "docs/reproducibility.md")
SLUG = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
PLAIN = re.compile(r"[^\W_](?:[\w ,.:;?!'’&()–-]*[\w?!.)])?")
CHAPTER = re.compile(rb"(?m)^( *- )chapters/[\w-]+\.md[^\r\n]*(\r?\n)")


class RefusedError(Exception):
    """A chapter cannot be begun; the message says why, and what to do."""


def check_names(config: Config, slug: str, title: str) -> None:
    """Raise RefusedError where the two names cannot be those of a new chapter."""
    if not slug or not title.strip():
        raise RefusedError('both names are needed: make new slug="my-question" title="My question"')
    if not SLUG.fullmatch(slug):
        near = re.sub(r"[^a-z0-9]+", "-", slug.lower()).strip("-0123456789")
        meant = f", such as {near!r}" if SLUG.fullmatch(near) else ""
        raise RefusedError(
            f"slug {slug!r}: use lower-case letters, digits and single hyphens, "
            f"and begin with a letter{meant}"
        )
    for page in config.pages():
        if Path(page).stem == slug:
            raise RefusedError(f"slug {slug!r}: {page} has this name already; choose another one")
    if not PLAIN.fullmatch(title):
        raise RefusedError(f"title {title!r}: use words and plain punctuation, on one line")


def with_chapter(navigation: bytes, slug: str) -> bytes:
    """Return mkdocs.yml with one line more, after the last chapter; all else stays as it is."""
    chapters = list(CHAPTER.finditer(navigation))
    if not chapters:
        raise RefusedError("mkdocs.yml: its nav has no line `- chapters/….md`; add one first")
    last = chapters[-1]
    line = last[1] + f"chapters/{slug}.md".encode() + last[2]
    return navigation[: last.end()] + line + navigation[last.end() :]


def begin(root: Path, slug: str, title: str) -> str:
    """Write the page and its line in the navigation; return the page's path."""
    config = load(root)
    check_names(config, slug, title)
    navigation = root / "mkdocs.yml"
    changed = with_chapter(navigation.read_bytes(), slug)
    template = (root / "snippets/chapter.md.in").read_text("utf-8")
    quoted = f'"{title}"' if ":" in title else title
    page = f"{config.docs}/chapters/{slug}.md"
    (root / page).write_text(template.format(slug=slug, title=quoted, heading=title), "utf-8")
    navigation.write_bytes(changed)
    return page


def main(root: Path, slug: str = "", title: str = "") -> int:
    """Begin a chapter and record it; return 0, or 1 where it is refused."""
    try:
        page = begin(root, slug, title)
    except RefusedError as error:
        print(f"make new: {error}", file=sys.stderr)
        return 1
    print("recording; where no runs are kept yet, this runs the whole book", flush=True)
    done = record(load(root), [page, *COUNTING])
    for left, problems in done.left.items():
        print(f"left {left} as it is:", *problems, sep="\n", file=sys.stderr)
    print(f"wrote {', '.join([*done.written, 'mkdocs.yml'])}")
    print(f"{page} holds an example that passes; `make serve` shows it while you replace it.")
    print("It stands last among the chapters: move its line in mkdocs.yml to where it belongs,")
    print("and add it to the map in docs/index.md.")
    return 1 if done.left else 0


if __name__ == "__main__":
    sys.exit(main(Path.cwd().resolve(), *sys.argv[1:3]))
