"""Builds after the edits of an author, timed under each tool in turn, and checked."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import edits
import verify
from book import Spec, record, write
from edits import Edit
from forms import DRIFTPROOF, EXECUTED, FORMS, Form
from usage import Usage, run

HERE = Path(__file__).parent
EDITS = ("sentence", "block", "helper")
VARIABLES = {
    "NO_MKDOCS_2_WARNING": "1",
    "SOURCE_DATE_EPOCH": "1700000000",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MPLBACKEND": "agg",
}
_BLOCK = re.compile(r"^```python", re.MULTILINE)

Say = Callable[[str], None]


class WrongError(Exception):
    """A site of ours is not what its sources say."""


class Shelf:
    """One book in every form, in a folder that is removed afterwards.

    Args:
        work: An empty folder.
        spec: Which book.
        forms: For which tools.
        names: The edits that will be made.
    """

    def __init__(
        self,
        work: Path,
        spec: Spec,
        forms: Iterable[Form] = FORMS,
        names: tuple[str, ...] = EDITS,
    ) -> None:
        self.work, self.spec, self.forms = work, spec, tuple(forms)
        template = self.template = work / "template"
        write(template, spec)
        (template / "mkdocs.yml").write_text(DRIFTPROOF.settings(spec))
        record(template)
        self.edits = {edit.name: edit for edit in edits.prepare(template, spec, names)}
        self.removed = 0
        self.put_aside(template / ".driftproof")
        for form in self.forms:
            form.copy(template, self.folder(form), spec)
        pages = (template / "docs").rglob("*.md")
        self.blocks = sum(len(_BLOCK.findall(page.read_text("utf-8"))) for page in pages)
        self._truth: dict[str, dict[str, str]] = {}

    def folder(self, form: Form) -> Path:
        """Return the folder of the book in one form."""
        return self.work / form.name.replace(" ", "-")

    def forget(self, form: Form) -> None:
        """Remove what builds of one form have left."""
        for name in (".driftproof", "site"):
            self.put_aside(self.folder(form) / name)

    def put_aside(self, folder: Path) -> None:
        """Move a folder out of the way: a disk that forgets thousands of files is slow for long."""
        if folder.exists():
            self.removed += 1
            folder.rename(self.work / f"removed-{self.removed}")

    def put(self, form: Form, files: dict[str, str]) -> None:
        """Save files of ours in the book of one form."""
        for path, text in files.items():
            form.put(self.folder(form), path, text)

    def build(self, form: Form, *, sampled: bool = False) -> Usage:
        """Build the site of one form.

        Raises:
            WrongError: The build failed.
        """
        used = _build(form, self.folder(form), sampled=sampled)
        if used.status:
            raise WrongError(f"{form.name} cannot build:\n{used.output[-3000:]}")
        return used

    def truth(self, edit: str) -> dict[str, str]:
        """Return the hashes of a site that was built from nothing, in another folder."""
        if edit not in self._truth:
            folder = self.work / "from-nothing"
            DRIFTPROOF.copy(self.template, folder, self.spec)
            for path, text in self.edits[edit].files.items() if edit else ():
                DRIFTPROOF.put(folder, path, text)
            used = _build(DRIFTPROOF, folder)
            if used.status:
                raise WrongError(f"not even from nothing:\n{used.output[-3000:]}")
            self._truth[edit] = verify.digests(folder / "site")
            self.put_aside(folder)
        return self._truth[edit]

    def wrong(self, form: Form, edit: Edit | None, output: str, *, cold: bool) -> list[str]:
        """Say what is wrong with the site of one form after an edit."""
        site = self.folder(form) / "site"
        found = verify.contents(site, edit) if edit else []
        if form is DRIFTPROOF:
            found += verify.differences(verify.digests(site), self.truth(edit.name if edit else ""))
            nothing = Edit("", {}, {}, "", {}, {}, 0, 0)
            found += verify.counts(output, None if cold else edit or nothing, self.blocks)
        return found


def measure(
    shelf: Shelf, repeats: dict[Form, int], say: Say, *, memory: bool = True
) -> list[dict[str, Any]]:
    """Time every edit under every tool.

    Args:
        shelf: The book.
        repeats: How often, for each tool.
        say: Told what is being done.
        memory: Whether memory is looked at, too, in builds of their own.

    Raises:
        WrongError: A site of ours was wrong.
    """
    found: list[dict[str, Any]] = []

    def note(edit: str, tool: str, used: Usage, **more: Any) -> None:
        values = {"cpu": used.cpu, "wall": used.wall, "rss": used.rss, "pss": used.pss}
        size = {"chapters": shelf.spec.chapters, "kind": shelf.spec.kind}
        found.append({**size, "edit": edit, "tool": tool, **values, **more})
        say(f"{shelf.spec.chapters:5} {edit:10} {tool:13} {used.cpu:7.2f} CPU s {used.wall:7.2f} s")

    for turn in range(max(repeats.values())):
        forms = [form for form in shelf.forms if turn < repeats.get(form, 0)]
        forms = forms[turn % len(forms) :] + forms[: turn % len(forms)]
        for form in forms:
            shelf.forget(form)
            used = shelf.build(form)
            note("cold", form.name, used, wrong=held(shelf, form, None, used, cold=True))
        used = run([sys.executable, str(HERE / "pure.py")], shelf.folder(DRIFTPROOF), VARIABLES)
        note("cold", "pure compute", used, seconds=json.loads(used.output.splitlines()[-1]))
        for form in forms:
            used = shelf.build(form)
            note("unchanged", form.name, used, wrong=held(shelf, form, None, used))
        _keep(shelf)
        for edit in shelf.edits.values():
            for form in forms:
                shelf.put(form, edit.files)
                used = shelf.build(form)
                note(edit.name, form.name, used, wrong=held(shelf, form, edit, used))
                shelf.put(form, edit.before)
            _restore(shelf)
        note("doc tests", "driftproof", _pytest(shelf, "docs"))
        note("doc tests", "pytest alone", _pytest(shelf, "src"))
    for form in shelf.forms if memory else ():
        if form is EXECUTED:  # one process, whose memory is known from its timed builds
            continue
        shelf.forget(form)
        note("memory, cold", form.name, shelf.build(form, sampled=True))
        note("memory, unchanged", form.name, shelf.build(form, sampled=True))
    return found


def held(
    shelf: Shelf, form: Form, edit: Edit | None, used: Usage, *, cold: bool = False
) -> list[str]:
    """Return what is wrong with a site of another tool; one of ours must not be wrong.

    Raises:
        WrongError: It is.
    """
    wrong = shelf.wrong(form, edit, used.output, cold=cold)
    if wrong and form is DRIFTPROOF:
        what = edit.name if edit else "cold" if cold else "unchanged"
        raise WrongError(f"{shelf.spec}, {what}: the site is wrong:\n" + "\n".join(wrong[:20]))
    return wrong


def _build(form: Form, folder: Path, *, sampled: bool = False) -> Usage:
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", "site"]
    variables = VARIABLES | ({"PYTHONPATH": "src"} if form is EXECUTED else {})
    return run(command, folder, variables, sampled=sampled)


def _keep(shelf: Shelf) -> None:
    """Set the cache of the unedited book aside, so that each edit is one never seen before."""
    shelf.put_aside(shelf.work / "kept")
    shutil.copytree(shelf.folder(DRIFTPROOF) / ".driftproof", shelf.work / "kept")


def _restore(shelf: Shelf) -> None:
    folder = shelf.folder(DRIFTPROOF)
    shelf.put_aside(folder / ".driftproof")
    shutil.copytree(shelf.work / "kept", folder / ".driftproof")
    shelf.build(DRIFTPROOF)


def _pytest(shelf: Shelf, path: str) -> Usage:
    """Run the pages' tests, or start pytest for nothing: there are no tests in src/."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", path]
    used = run(command, shelf.folder(DRIFTPROOF), VARIABLES)
    if used.status != (5 if path == "src" else 0):
        raise WrongError(f"the pages' tests fail:\n{used.output[-3000:]}")
    return used
