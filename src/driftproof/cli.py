"""The command `driftproof`: check, record, list, publish."""

from __future__ import annotations

import argparse
import difflib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from driftproof import report as write
from driftproof.browser import steps
from driftproof.check import check
from driftproof.cluster import connected
from driftproof.config import Config, load
from driftproof.explain import explain, sections
from driftproof.grammar import parse_page
from driftproof.problem import DriftproofError
from driftproof.propose import accept
from driftproof.record import record
from driftproof.results import Result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0 when all is well, 1 for problems, 2 for a wrong call."""
    parser = argparse.ArgumentParser(prog="driftproof", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    for name, run, text in (
        ("check", _check, "run the pages' blocks and compare what they print with the record"),
        ("record", _record, "run the pages' blocks and write what drifted into the pages"),
        ("list", _list, "list the pages' blocks"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        command.add_argument("pages", nargs="*", metavar="page", help="default: every page")
        if run is not _list:
            command.add_argument("--device", default="", choices=["cuda"], help="run there")
            command.add_argument(
                "--scheduler", default="", metavar="address", help="run on a Dask cluster"
            )
        if run is not _record:
            command.add_argument("--json", action="store_true", help="print JSON")
        if run is _check:
            command.add_argument("--junit", type=Path, metavar="file", help="write JUnit XML")
            command.add_argument("--report", type=Path, metavar="file", help="write JSON")
            command.add_argument(
                "--release", action="store_true", help="need a recording of every device"
            )
        if run is _record:
            command.add_argument(
                "--from", dest="source", type=Path, metavar="file", help="accept a report's texts"
            )
    text = "write what readers take away into a built site: PDF, EPUB, notebooks, offline copy"
    command = commands.add_parser("publish", help=text, description=text)
    command.set_defaults(run=_publish, pages=[])
    command.add_argument("site", nargs="?", default="site", type=Path, help="default: site")
    command.add_argument("--formats", action="store_true", help="say which, and write nothing")
    text = "say what a message means and what to do, by the code in brackets at its end"
    command = commands.add_parser("explain", help=text, description=text)
    command.add_argument("code", nargs="?", help="default: list the codes")
    command.set_defaults(run=None)
    options = parser.parse_args(arguments)
    try:
        if options.run is None:
            print(explain(options.code) if options.code else "\n".join(sections()))
            return 0
        config = load()
        done = options.run(config, _paths(config, options.pages), options)
        sys.stdout.flush()
        return done
    except DriftproofError as error:
        print(error, file=sys.stderr)
        return 2
    except BrokenPipeError:  # what reads the output, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        print("driftproof: stopped", file=sys.stderr)
        return 130


def _paths(config: Config, pages: list[str]) -> list[str] | None:
    """Return pages relative to the root, from paths, names such as `gradients`, or nothing."""
    known = config.pages()
    found = []
    for name in pages:
        path = Path(name).resolve()
        relative = config.relative(path) if path.is_relative_to(config.root) else ""
        named = [page for page in known if Path(page).stem == name]
        if relative not in known and not named:
            near = difflib.get_close_matches(name, [*known, *(Path(p).stem for p in known)], n=1)
            hint = f"did you mean {near[0]}?" if near else "`driftproof list` names the pages"
            raise DriftproofError("no-page", f"{name} is not a page under {config.docs}/", hint)
        found += [relative] if relative in known else named
    return found or None


def _check(config: Config, paths: list[str] | None, options: argparse.Namespace) -> int:
    with (
        connected(config, options.device, options.scheduler) as executor,
        _Progress(len(paths or config.pages())) as progress,
    ):
        report = check(
            config,
            paths,
            device=options.device,
            release=options.release,
            executor=executor,
            progress=progress,
        )
    for file, text in ((options.junit, write.as_junit), (options.report, write.as_json)):
        if file:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text(report), "utf-8")
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(summary, "a", encoding="utf-8") as page:
            page.write(write.as_summary(report))
    if options.json:
        print(write.as_json(report))
    else:
        for note in report.notes:
            print(f"{note.path}:{note.line}: note: {note.message}")
        print(write.as_text(report))
        if os.environ.get("GITHUB_ACTIONS") and report.problems:
            print(write.as_annotations(report))
    return 1 if report.problems else 0


def _record(config: Config, paths: list[str] | None, options: argparse.Namespace) -> int:
    if options.source:
        done = accept(config, options.source, paths)
    else:
        with connected(config, options.device, options.scheduler) as executor:
            done = record(config, paths, device=options.device, executor=executor)
    for change in done.changes:
        relative = "" if change.relative is None else f"  (relative change {change.relative:.1e})"
        print(f"{change.path}:{change.line}:{relative}")
        for sign, text in (("-", change.old), ("+", change.new)):
            print("\n".join(f"  {sign} {line}" for line in text.split("\n") if text))
    for path, problems in done.left.items():
        print(f"left {path} as it is:", *problems, sep="\n", file=sys.stderr)
    if done.written:
        print(f"wrote {', '.join(done.written)}")
    elif not done.left:
        print("nothing to record")
    return 1 if done.left else 0


def _list(config: Config, paths: list[str] | None, options: argparse.Namespace) -> int:
    pages = [parse_page(config, path) for path in paths or config.pages()]
    blocks = [
        {
            "page": page.path,
            "line": block.line,
            "anchor": block.anchor,
            "runs": block.runs,
            "output": bool(block.output),
            "reason": block.options.get("reason", ""),
            "browser": bool(config.browser) and not kept.get(block.number, "does not run"),
            "obstacle": kept.get(block.number, ""),
        }
        for page in pages
        for kept in [{s.block.number: s.obstacle for s in steps(page, config.browser)}]
        for block in page.blocks
    ]
    if options.json:
        print(json.dumps(blocks, indent=2))
    else:
        for block in blocks:
            how = "runs" if block["runs"] else f"shown only: {block['reason']}"
            if config.browser and block["runs"]:
                how += ", in a browser too" if block["browser"] else f" ({block['obstacle']})"
            print(f"{block['page']}:{block['line']}  {block['anchor']}  {how}")
        runs = sum(bool(block["runs"]) for block in blocks)
        too = sum(bool(block["browser"]) for block in blocks)
        browser = f", {too} in a browser too" if config.browser else ""
        print(f"{len(blocks)} blocks, {runs} run{browser}, {len(blocks) - runs} shown only")
    problems = [problem for page in pages for problem in page.problems]
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def _publish(config: Config, paths: list[str] | None, options: argparse.Namespace) -> int:
    try:
        from driftproof.publish import site
    except ImportError as error:
        hint = "install the extra `publish`"
        raise DriftproofError("no-package", f"{error.name} is missing", hint) from None
    if options.formats:
        print(*site.formats(config))
        return 0
    written = site.publish(config, options.site)
    size = sum(path.stat().st_size for path in written)
    print(f"{len(written)} files to take away, {size / 1e6:.1f} MB")
    if not any(path.suffix == ".pdf" for path in written):
        print("the PDF is left out: Chromium is not installed", file=sys.stderr)
        return 1 if os.environ.get("CI") else 0
    return 0


class _Progress:
    """A bar on a terminal, nothing elsewhere."""

    def __init__(self, total: int) -> None:
        self.total, self.done = total, 0
        self.shows = sys.stderr.isatty()

    def __enter__(self) -> _Progress:
        return self

    def __call__(self, result: Result) -> None:
        self.done += 1
        if self.shows:
            filled = 30 * self.done // max(1, self.total)
            bar = "█" * filled + "·" * (30 - filled)
            name = result.page.path
            print(f"\r\x1b[K{bar} {self.done}/{self.total} {name}", end="", file=sys.stderr)

    def __exit__(self, *_: object) -> None:
        if self.shows:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
