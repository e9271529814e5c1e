"""The verdict: parse every page, run or recall its blocks, compare, and say what is wrong."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field

from driftproof import cache, lint, runner
from driftproof.bound import Value, agrees, shown
from driftproof.compare import Difference, compare, remarks
from driftproof.config import Config
from driftproof.grammar import Block, Bound, Page, parse_page
from driftproof.problem import Problem
from driftproof.runner import Run
from driftproof.stamp import drifted_versions
from driftproof.worker import Failure


@dataclass
class Result:
    """A page, its run and what is wrong with it.

    Attributes:
        page: The page.
        run: What happened when it ran, or None where it could not be run.
        cached: Whether the run was recalled rather than made.
        problems: What keeps the page from being published.
        notes: What its author should know.
    """

    page: Page
    run: Run | None = None
    cached: bool = False
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)


@dataclass
class Report:
    """The results of the pages that were checked and of those that they name, by path.

    The counts are of blocks: `found` = `shown` + `elsewhere` + `expected`; a build is right when
    `expected` = `ran` + `recalled` = `agreed` and there are no problems.
    """

    results: dict[str, Result]
    wanted: set[str]
    owners: dict[str, str]
    device: str = ""

    @property
    def problems(self) -> list[Problem]:
        found = [p for r in self.results.values() for p in r.problems]
        return sorted(found, key=lambda problem: (problem.path, problem.line))

    @property
    def notes(self) -> list[Problem]:
        return [note for result in self.results.values() for note in result.notes]

    @property
    def counts(self) -> dict[str, int]:
        counts = dict.fromkeys(
            ("found", "shown", "elsewhere", "expected", "ran", "recalled", "agreed", "bound"), 0
        )
        for result in (self.results[path] for path in self.wanted):
            page, here = result.page, runner.steps_here(result.page, self.device)
            done = len(result.run.outputs) if result.run else 0
            at_fault = [block_of(page, problem) for problem in result.problems]
            counts["found"] += len(page.blocks)
            counts["shown"] += len(page.blocks) - len(page.running)
            counts["elsewhere"] += len(page.running) - len(here)
            counts["expected"] += len(here)
            counts["recalled" if result.cached else "ran"] += done
            counts["agreed"] += sum(
                result.run is not None
                and block.number in result.run.outputs
                and block not in at_fault
                for block in here
            )
            counts["bound"] += len(page.bounds)
        return counts

    @property
    def summary(self) -> str:
        """One line for the end of a build."""
        c = self.counts
        text = (
            f"{c['expected']} blocks expected, {c['ran']} ran, {c['recalled']} from cache, "
            f"{c['agreed']} agreed; {c['bound']} bound numbers"
        )
        if c["shown"]:
            text += f'; {c["shown"]} shown only (exec="off")'
        if c["elsewhere"]:
            text += f"; {c['elsewhere']} not verified here (other device)"
        return text


def check(
    config: Config,
    paths: Iterable[str] | None = None,
    *,
    device: str = "",
    pages: dict[str, Page] | None = None,
    executor: Executor | None = None,
    recall_only: bool = False,
    progress: Callable[[Result], None] = lambda result: None,
) -> Report:
    """Check pages and return the report.

    Args:
        config: The project's settings.
        paths: Pages relative to the root; all of them by default.
        device: "cuda" to run what needs or can use that device.
        pages: All pages by path, where they are parsed already.
        executor: What hands out pages; by default a thread per core.
        recall_only: Run nothing; a page that has no kept run is judged by its text alone.
        progress: Called after each page.
    """
    pages = pages or {path: parse_page(config, path) for path in config.pages()}
    wanted = list(pages) if paths is None else list(paths)
    for path in wanted:
        pages.setdefault(path, parse_page(config, path))
    owners = _owners(pages)
    needed = set(wanted) | {
        owners[b.slug] for path in wanted for b in pages[path].bounds if b.slug in owners
    }
    jobs = [pages[path] for path in pages if path in needed]
    results: dict[str, Result] = {}
    pool = executor or ThreadPoolExecutor(max_workers=os.cpu_count())
    try:
        pending = [
            pool.submit(
                _run, config, page, expressions_of(page, pages.values()), device, recall_only
            )
            for page in jobs
        ]
        for page, future in zip(jobs, pending, strict=True):
            results[page.path] = future.result()
            progress(results[page.path])
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        runner.stop()
        raise
    pool.shutdown()
    report = Report(results, set(wanted), owners, device)
    for path in wanted:
        _judge(results[path], report)
    return report


def expressions_of(page: Page, pages: Iterable[Page]) -> list[str]:
    """Return the expressions to evaluate on `page`: its own, and those of others that name it."""
    own = {bound.expression for bound in page.bounds if not bound.slug}
    asked = {b.expression for other in pages for b in other.bounds if b.slug == page.slug}
    return sorted(own | asked)


def seal(block: Block, text: str) -> str:
    """Return the short hash that stands for digits which are not compared one by one."""
    return hashlib.sha256(f"{block.code}\0{text}".encode()).hexdigest()[:8]


def printed(run: Run, block: Block) -> str:
    """Return what is recorded for a block: what it printed, or the columns of its figure."""
    figure = run.figures.get(block.number)
    return figure.columns if figure else run.outputs[block.number]


def block_of(page: Page, problem: Problem) -> Block | None:
    """Return the block of `page` that a problem concerns, None where it is in the prose."""
    if problem.block:
        return page.blocks[problem.block - 1]
    return page.block_at(problem.line) if problem.path == page.path else None


def _owners(pages: dict[str, Page]) -> dict[str, str]:
    owners: dict[str, str] = {}
    for path, page in pages.items():
        owners.setdefault(page.slug, path)
    return owners


def _run(
    config: Config, page: Page, expressions: list[str], device: str, recall_only: bool
) -> Result:
    result = Result(page, problems=list(page.problems))
    result.problems += lint.unbound_numbers(page) + lint.malformed_formulas(page)
    stops = {"unclosed-fence", "encoding", "file", "include-in-code"}
    if any(problem.code in stops for problem in page.problems):
        return result
    if not runner.steps_here(page, device) and not expressions:
        result.run = Run()
        return result
    result.run = cache.load(config, page, expressions, device)
    result.cached = result.run is not None
    if result.run is None and not recall_only:
        result.run = runner.run(config, page, expressions, device)
        broken = any(isinstance(value, Failure) for value in result.run.values.values())
        if result.run.failure is None and not broken:
            wrong = cache.store(config, page, expressions, device, result.run)
            if wrong:
                result.notes.append(Problem("cache", page.path, 1, wrong))
    return result


def _judge(result: Result, report: Report) -> None:
    page, run = result.page, result.run
    if run is None:
        return
    if run.failure is not None:
        result.problems.append(_failed(page, run))
    for block in page.running:
        if block.number in run.outputs and block.number != run.failed:
            _judge_block(result, block, printed(run, block))
        elif block.output and block.output.device not in ("", report.device):
            _judge_unverified(result, block)
    for bound in page.bounds:
        _judge_bound(result, bound, report)


def _judge_block(result: Result, block: Block, got: str) -> None:
    page, output, run = result.page, block.output, result.run
    figure = run.figures.get(block.number) if run else None

    def problem(code: str, line: int, message: str, hint: str = "", *detail: str) -> None:
        result.problems.append(Problem(code, page.path, line, message, hint, detail))

    if figure and run and run.outputs[block.number]:
        problem("figure", block.line, "a block that shows a figure prints nothing else", "split it")
        return
    if output is None:
        if got:
            hint = "run `driftproof record` to write one"
            problem("missing-output", block.line, "the block prints, but has no output", hint)
        return
    line = output.fence.start + 1
    if (output.show == "figure") != bool(figure):
        hint = 'a figure\'s output says show="figure", and no other does'
        problem("figure", line, "block and output disagree on whether this is a figure", hint)
        return
    if not got:
        problem("surplus-output", line, "the block prints nothing", "remove this output")
        return
    if output.is_sealed and output.options.get("code") != seal(block, output.text):
        problem(
            "seal",
            line,
            "the code or the recorded text changed since it was recorded",
            f"run `driftproof record {page.path}`, and read what it changes",
        )
    if output.is_leaf:
        return
    differences = compare(output.text, got, output.tolerance)
    if differences:
        for difference in differences:
            result.problems.append(_drift(page, output.fence.start + 2, difference))
        versions = drifted_versions(page)
        if versions:
            last = result.problems.pop()
            result.problems.append(
                Problem(**{**vars(last), "detail": (*last.detail, *versions)})
            )
    for at, text in remarks(output.text, output.tolerance):
        result.notes.append(Problem("remark", page.path, output.fence.start + 2 + at, text))


def _judge_unverified(result: Result, block: Block) -> None:
    output, page = block.output, result.page
    assert output is not None
    line = output.fence.start + 1
    if not output.text.strip():
        text = f"no recording from a {output.device} device exists yet"
        result.notes.append(Problem("unverified", page.path, line, text))
    elif output.options.get("code") != seal(block, output.text):
        hint = f"record it again on a machine with a {output.device} device"
        text = "the code or the recorded text changed since it was recorded"
        result.problems.append(Problem("seal", page.path, line, text, hint))
    else:
        text = f"recorded on another device ({output.device}); not verified here"
        result.notes.append(Problem("unverified", page.path, line, text))


def value_of(bound: Bound, page: Page, report: Report) -> Value | Failure | None:
    """Return the value of a bound number, a Failure, or None where its page did not run."""
    owner = report.owners.get(bound.slug, "") if bound.slug else page.path
    result = report.results.get(owner)
    return result.run.values.get(bound.expression) if result and result.run else None


def _judge_bound(result: Result, bound: Bound, report: Report) -> None:
    path = result.page.path

    def problem(code: str, message: str, hint: str = "") -> None:
        result.problems.append(Problem(code, path, bound.line, message, hint))

    if bound.slug and bound.slug not in report.owners:
        known = ", ".join(sorted(report.owners))
        problem("bound-number", f"no page is called {bound.slug!r}", f"pages: {known}")
        return
    value = value_of(bound, result.page, report)
    if value is None:
        if bound.slug:
            problem("bound-number", f"the page {bound.slug!r} did not run to its end")
    elif isinstance(value, Failure):
        problem("bound-number", f"{bound.expression!r} fails: {value.kind}: {value.message}")
    elif not agrees(bound.text, value, bound.tolerance):
        problem(
            "drift",
            f"{bound.text!r} should read {shown(bound.text, value)!r}: "
            f"{bound.expression} is {value!r}",
            f"if the new value is right, run `driftproof record {path}`",
        )


def _failed(page: Page, run: Run) -> Problem:
    failure = run.failure
    assert failure is not None
    block = next((b for b in page.blocks if b.number == run.failed), None)
    file, line = failure.file or page.path, failure.line or (block.line if block else 1)
    detail = list(failure.frames)
    if block:
        later = len([b for b in page.running if b.number > block.number])
        detail = [f"{i}: {text}" for i, text in enumerate(block.code.splitlines(), block.first)][:40]
        detail += [frame for frame in failure.frames if not frame.startswith(f"{block.file}:")]
        if later:
            detail.append(f"blocks after it, not run: {later}")
    if run.stderr:
        detail += [f"stderr: {text}" for text in run.stderr.splitlines()[-5:]]
    message = f"{failure.kind}: {failure.message}" if failure.message else failure.kind
    hint = "" if file == page.path or not block else f"run by the block at {page.path}:{block.line}"
    return Problem("block-failed", file, line, message, hint, tuple(detail), run.failed)


def _drift(page: Page, first: int, difference: Difference) -> Problem:
    change = "" if difference.change is None else f" (relative change {difference.change:.1e})"
    return Problem(
        "drift",
        page.path,
        first + difference.line,
        f"{difference.reason}{change}",
        f"if the new output is right, run `driftproof record {page.path}`",
        (f"recorded: {difference.recorded}", f"printed:  {difference.got}"),
    )
