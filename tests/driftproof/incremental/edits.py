"""Edits of the small book, drawn at random: what authors do, and what happens to its folder."""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

WORDS = ("always", "lag", "gaps", "never", "slowly", "in the end", "twice", "lag's", "again")
PAGES = ("docs/index.md", "docs/decay.md", "docs/table.md")
GLOSSARY = "docs/glossary.md"


class Author:
    """Edits a book at random; each edit is right or wrong by itself.

    Args:
        book: The book.
        seed: Decides what comes.
        never: Names of edits that do not come.
    """

    def __init__(self, book: Any, seed: int, never: Collection[str] = ()) -> None:
        self.book, self.random = book, random.Random(seed)
        self.right = book.sources()
        self.wrong = 0
        names = {name for name in vars(Author) if name.startswith("edit_")}
        self._names = sorted(names.difference(never))

    def edit(self) -> str:
        """Change something; return what."""
        for _ in range(20):
            name = self.random.choice(self._names)
            if (done := getattr(self, name)()) is not False:
                return f"{name}: {done}"
        raise AssertionError("nothing is left to edit")

    def learn(self, *, built: bool) -> None:
        """Learn whether the book could be built; after three that could not, undo them."""
        if built:
            self.right, self.wrong = self.book.sources(), 0
            return
        self.wrong += 1
        if self.wrong > 2:
            self.restore(self.right)
            self.wrong = 0

    def restore(self, files: dict[str, bytes]) -> None:
        """Put the sources back as they were."""
        for name, content in self.book.sources().items():
            if name not in files:
                self.book.path(name).unlink()
            elif content != files[name]:
                self.book.path(name).write_bytes(files[name])
        for name in files.keys() - self.book.sources().keys():
            self.book.path(name).parent.mkdir(parents=True, exist_ok=True)
            self.book.path(name).write_bytes(files[name])

    def _sub(self, name: str, pattern: str, new: Any) -> Any:
        """Replace one place, drawn at random, that matches; False where none does."""
        if not self.book.path(name).is_file():
            return False
        text = self.book.read(name)
        found = list(re.finditer(pattern, text, re.MULTILINE))
        if not found:
            return False
        match = self.random.choice(found)
        self.book.write(name, text[: match.start()] + match.expand(new) + text[match.end() :])
        return f"{name} {match[0]!r} {new!r}"

    def _word(self) -> str:
        return self.random.choice(WORDS)

    def _page(self) -> str:
        pages = [
            path for path in self.book.root.glob("docs/**/*.md") if "reference" not in path.parts
        ]
        return self.random.choice(sorted(pages)).relative_to(self.book.root).as_posix()

    # What is written in pages.

    def edit_sentence(self) -> Any:
        return self._sub(self._page(), r"(?<=[a-z]) (?=[a-z]+[ .,;])", f" {self._word()} ")

    def edit_sentence_of_the_same_size(self) -> Any:
        a, b = self.random.sample(["wide", "deep", "long", "many"], 2)
        return self._sub(self._page(), rf"\b{a}\b", b)

    def edit_new_paragraph(self) -> Any:
        name = self._page()
        self.book.write(name, f"{self.book.read(name)}\nThis is {self._word()} new.\n")
        return name

    def edit_heading(self) -> Any:
        return self._sub(self._page(), r"^(#+ [^\n{]+?)( ?\w*)$", rf"\1 {self._word()}")

    def edit_heading_back(self) -> Any:
        return self._sub("docs/decay.md", r"^## The .*$", "## The cost")

    def edit_front_matter(self) -> Any:
        return self._sub(self._page(), r"^level: .*$", f"level: {self._word()}")

    def edit_description(self) -> Any:
        return self._sub(
            self._page(), r"^description: .*$", f"description: What {self._word()} is."
        )

    def edit_title(self) -> Any:
        name = self._page()
        if self.book.read(name).startswith("---\n"):
            done = self._sub(name, r"^title: .*\n", "")
            return done or self._sub(name, r"\A---\n", f"---\ntitle: A {self._word()} title\n")
        self.book.write(name, f"---\ntitle: A title\n---\n\n{self.book.read(name)}")
        return name

    def edit_comment(self) -> Any:
        name = self._page()
        self.book.write(name, f"{self.book.read(name)}\n<!-- {self._word()} -->\n")
        return name

    def edit_link(self) -> Any:
        target = self.random.choice(["decay.md#the-cost", "table.md", "none.md", "index.md#home"])
        return self._sub(self._page(), r"\]\([^)\n]*\)", f"]({target})")

    def edit_formula(self) -> Any:
        return self._sub(self._page(), r"\$\\tau[^$]*\$", rf"$\\\\tau_{self.random.choice('abc')}$")

    def edit_include(self) -> Any:
        name = self._page()
        done = self._sub(name, r'^--8<-- "note.md"\n', "")
        if not done:
            self.book.write(name, f'{self.book.read(name)}\n--8<-- "note.md"\n')
        return f"{name} includes"

    # What runs.

    def edit_block(self) -> Any:
        return self._sub(
            "docs/decay.md", r"(?<=print\(f\"\{left\()\d+", str(self.random.randrange(9, 12))
        )

    def edit_block_and_record(self) -> Any:
        done = self.edit_block()
        return done and (done, self.book.record().code)

    def edit_recorded(self) -> Any:
        return self._sub("docs/decay.md", r"^0\.\d{4}$", f"0.{self.random.randrange(1000, 9999)}")

    def edit_bound(self) -> Any:
        return self._sub(
            self._page(), r"(?<=\">)(?:\d+\.?\d*)(?=</data>)", str(self.random.randrange(9))
        )

    def edit_expression(self) -> Any:
        return self._sub(
            "docs/index.md", r"decay:left\(\d+\)", f"decay:left({self.random.randrange(9, 12)})"
        )

    def edit_record(self) -> Any:
        return self.book.record().code

    def edit_helper(self) -> Any:
        return self._sub("src/tools/rates.py", r"0\.\d+", f"0.{self.random.randrange(7, 10)}")

    def edit_helper_and_record(self) -> Any:
        return self.edit_helper(), self.book.record().code

    def edit_docstring(self) -> Any:
        return self._sub("src/helper.py", r"(?<=after) .*steps", f" {self._word()} some steps")

    def edit_picture(self) -> Any:
        return self._sub("src/picture.py", r'width="\d"', f'width="{self.random.randrange(1, 5)}"')

    def edit_program(self) -> Any:
        done = self._sub("snippets/program.py", r"\d\.5", f"{self.random.randrange(1, 5)}.5")
        return done and (done, self.random.random() < 0.7 and self.book.record().code)

    def edit_data(self) -> Any:
        done = self._sub("docs/assets/rows.csv", r"\d\.5", f"{self.random.randrange(1, 9)}.5")
        return done and (done, self.random.random() < 0.7 and self.book.record().code)

    # What pages share.

    def edit_note(self) -> Any:
        return self._sub("snippets/note.md", r"(?<=[a-z]) (?=[a-z]+[ .,])", f" {self._word()} ")

    def edit_term(self) -> Any:
        return self._sub(GLOSSARY, r"(?<=[a-z]) (?=[a-z]+[ .])", f" {self._word()} ")

    def edit_terms(self) -> Any:
        done = self._sub(GLOSSARY, r"\n\nNote \{ #note \}\n:   A thing apart\.\n", "\n")
        if not done:
            text = self.book.read(GLOSSARY)
            self.book.write(GLOSSARY, f"{text}\n\nNote {{ #note }}\n:   A thing apart.\n")
        return "terms"

    def edit_template(self) -> Any:
        return self._sub("theme/main.html", r"motto \}\}.*?:", f"motto }}}} {self._word()}:")

    def edit_part_of_a_template(self) -> Any:
        return self._sub("theme/sign.html", r">.*<", f">A {self._word()} sign<")

    def edit_hook(self) -> Any:
        return self._sub("hook.py", r"^KEEPER = .*$", f'KEEPER = "{self._word()}"')

    def edit_style(self) -> Any:
        return self._sub("docs/assets/extra.css", r"\n", " /* . */\n")

    def edit_motto(self) -> Any:
        return self._sub("mkdocs.yml", r"motto: .*", f"motto: {self._word()}")

    def edit_option(self) -> Any:
        done = self._sub("mkdocs.yml", r'permalink: "#"', "permalink: true")
        return done or self._sub("mkdocs.yml", r"permalink: true", 'permalink: "#"')

    def edit_extension(self) -> Any:
        done = self._sub("mkdocs.yml", r"^  - footnotes\n", "")
        return done or self._sub("mkdocs.yml", r"^  - tables\n", "  - footnotes\n  - tables\n")

    def edit_excluded(self) -> Any:
        done = self._sub("mkdocs.yml", r"^exclude_docs: .*\n", "")
        return done or self._sub("mkdocs.yml", r"\A", "exclude_docs: new.md\n")

    def edit_nav(self) -> Any:
        return self._sub(
            "mkdocs.yml", r"^( +- decay\.md\n)( +- table\.md\n)", r"\2\1"
        ) or self._sub("mkdocs.yml", r"^( +- table\.md\n)( +- decay\.md\n)", r"\2\1")

    def edit_nav_title(self) -> Any:
        return self._sub("mkdocs.yml", r"- Chapters.*:", f"- Chapters {self._word()}:")

    # Which files there are.

    def edit_page_added(self) -> Any:
        if self.book.path("docs/new.md").exists():
            return False
        self.book.write("docs/new.md", "# New\n\n[home](index.md) and `lag`, then lag.\n")
        self._sub("mkdocs.yml", r"^  - glossary\.md\n", "  - new.md\n  - glossary.md\n")
        return "new"

    def edit_page_removed(self) -> Any:
        if not self.book.path("docs/new.md").exists():
            return False
        self.book.path("docs/new.md").unlink()
        return self._sub("mkdocs.yml", r"^  - new\.md\n", "")

    def edit_page_renamed(self) -> Any:
        names = ["table", "tables"]
        for old, new in (names, names[::-1]):
            if self.book.path(f"docs/{old}.md").exists():
                self.book.path(f"docs/{old}.md").rename(self.book.path(f"docs/{new}.md"))
                self._sub("mkdocs.yml", rf"- {old}\.md", f"- {new}.md")
                if self.random.random() < 0.7:
                    self._sub("docs/index.md", rf"(?<=\"){old}:", f"{new}:")
                return new
        return False

    def edit_other_file(self) -> Any:
        path = self.book.path("docs/assets/other.txt")
        if path.exists() and self.random.random() < 0.5:
            path.unlink()
        else:
            path.write_text(self._word())
        return path.exists()

    # What happens to files.

    def edit_nothing(self) -> Any:
        return ""

    def edit_touched(self) -> Any:
        name = self._page()
        self.book.path(name).touch()
        return name

    def edit_time_set_back(self) -> Any:
        name = self._page()
        times = self.book.path(name).stat()
        time.sleep(0.01)
        done = self._sub(name, r"\b(?:wide|deep|long|many)\b", self.random.choice(["wide", "deep"]))
        done = done or self.edit_new_paragraph()
        os.utime(self.book.path(name), ns=(times.st_atime_ns, times.st_mtime_ns))
        return name, done

    def edit_undone(self) -> Any:
        self.restore(self.right)
        return ""

    def edit_site_changed(self) -> Any:
        return self._harmed(self.book.root / "site")

    def edit_cache_changed(self) -> Any:
        return [self._harmed(self.book.root / ".driftproof") for _ in range(4)]

    def _harmed(self, folder: Path) -> Any:
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        if not files:
            return False
        path = self.random.choice(files)
        content = bytearray(path.read_bytes())
        times = path.stat()
        how = self.random.choice(["deleted", "cut", "garbled", "garbled in time", "emptied"])
        if how == "deleted":
            path.unlink()
        elif how == "cut":
            path.write_bytes(content[: self.random.randrange(len(content) + 1)])
        elif how == "emptied":
            path.write_bytes(b"")
        elif content:
            for _ in range(self.random.randrange(1, 9)):
                content[self.random.randrange(len(content))] = self.random.randrange(256)
            path.write_bytes(content)
            if how == "garbled in time":
                os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        return path.relative_to(self.book.root), how
