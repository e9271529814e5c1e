"""The book for language models: a list of its pages (llms.txt) and its whole text."""

from __future__ import annotations

from pathlib import Path

from driftproof.publish.book import Book
from driftproof.publish.links import resolver
from driftproof.publish.prose import as_markdown


def write_llms(book: Book, site: Path) -> list[Path]:
    """Write `llms.txt`, as https://llmstxt.org has it, and `llms-full.txt`; return their paths."""
    lines = [f"# {book.name}", "", f"> {book.description}"]
    section = None
    for entry in book.entries:
        if entry.section != section:
            section = entry.section
            lines += ["", f"## {': '.join(section) or 'Pages'}", ""]
        said = f": {entry.description}" if entry.description else ""
        lines.append(f"- [{entry.title}]({book.at(entry.source) or entry.source}){said}")
    full = [f"# {book.name}\n\n> {book.description}\n"]
    full += [as_markdown(book.config, e.page, resolver(book, e)) for e in book.volume]
    written = {"llms.txt": "\n".join([*lines, ""]), "llms-full.txt": "\n".join(full)}
    for name, text in written.items():
        (site / name).write_text(text, "utf-8")
    return [site / name for name in written]
