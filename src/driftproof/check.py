"""Checking: parse every page, run or recall its blocks, and judge what they printed."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Executor, Future, ThreadPoolExecutor

from driftproof import borrowed, cache, reading, runner
from driftproof.config import Config
from driftproof.failure import Failure
from driftproof.judge import judge
from driftproof.page import Page
from driftproof.problem import Problem
from driftproof.results import Report, Result
from driftproof.runs import Run

_CACHE = "make the folder writable, or name another one in the setting `cache`"


def _always() -> bool:
    return True


def check(
    config: Config,
    paths: Iterable[str] | None = None,
    *,
    device: str = "",
    release: bool = False,
    pages: dict[str, Page] | None = None,
    executor: Executor | None = None,
    recall_only: bool = False,
    anew: Collection[str] = (),
    going: Callable[[], bool] = _always,
    progress: Callable[[Result], None] = lambda result: None,
) -> Report:
    """Check pages and return the report.

    Args:
        config: The project's settings.
        paths: Pages relative to the root; all of them by default.
        device: "cuda" to run what needs or can use that device.
        release: Whether outputs of other devices must have been recorded.
        pages: All pages by path, where they are parsed already.
        executor: What hands out pages; by default a thread per core.
        recall_only: Run nothing and judge nothing: for pages to be shown before they are checked.
        anew: Pages to run even where a run of theirs was kept.
        going: Asked before each page; once it is false, nothing begins any more.
        progress: Called after each page.
    """
    pages = pages or {path: reading.read_page(config, path) for path in config.pages()}
    wanted = list(pages) if paths is None else list(paths)
    for path in wanted:
        if path not in pages:
            pages[path] = reading.read_page(config, path)
    owners = _owners(pages)
    expressions = expressions_of(pages)
    needed = set(wanted).union(*(named_by(pages[path], owners) for path in wanted))
    jobs = {path: page for path, page in pages.items() if path in needed}
    results: dict[str, Result] = {}
    pending: dict[str, Future[Result]] = {}
    pool = executor or ThreadPoolExecutor(max_workers=os.cpu_count())
    try:
        for path, page in jobs.items():
            asked = sorted(expressions[path] | expressions[page.slug])
            recalls = path not in anew
            results[path] = run_page(
                config, page, asked, device, recalls=recalls, runs=False, going=going
            )
            if results[path].run is None and not recall_only:
                recalls &= executor is not None  # elsewhere a run of it may be kept
                pending[path] = pool.submit(
                    run_page, config, page, asked, device, recalls=recalls, runs=True, going=going
                )
        for path in jobs:
            if path in pending:
                results[path] = pending[path].result()
                if results[path].conditions:  # it comes from another machine
                    _keep(config, results[path], device)
            progress(results[path])
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        runner.stop()
        raise
    pool.shutdown()
    report = Report(
        results, set(wanted), owners, device, judged=not recall_only, is_release=release
    )
    for path in wanted if not recall_only else ():
        conclude(config, results[path], report)
    return report


def conclude(config: Config, result: Result, report: Report) -> None:
    """Add to `result` what is wrong with its page, once the runs behind it are in `report`."""
    result.problems += reading.faults(config, result.page)
    judge(result, report)


def named_by(page: Page, owners: dict[str, str]) -> set[str]:
    """Return the paths of the pages whose numbers or figures a page shows."""
    named = {bound.slug for bound in page.bounds} | borrowed.owners(page)
    return {owners[slug] for slug in named if slug in owners}


def expressions_of(pages: dict[str, Page]) -> defaultdict[str, set[str]]:
    """Return the expressions to evaluate: a page's own by its path, those of others by its name."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path, page in pages.items():
        for bound in page.bounds:
            found[bound.slug or path].add(bound.expression)
    return found


def _owners(pages: dict[str, Page]) -> dict[str, str]:
    """Return the path of each page by its name, where only one page has it."""
    count = Counter(page.slug for page in pages.values())
    return {page.slug: path for path, page in pages.items() if count[page.slug] == 1}


def run_page(
    config: Config,
    page: Page,
    expressions: list[str],
    device: str,
    *,
    recalls: bool = True,
    runs: bool = True,
    going: Callable[[], bool] = _always,
    run: Callable[[Config, Page, list[str], str], Run] = runner.run,
) -> Result:
    """Recall or run a page; `run` makes a run that is the one that `runner.run` would make."""
    result = Result(page, problems=list(page.problems))
    if not going():
        return result
    stops = {"unclosed-fence", "encoding", "file", "include-in-code"}
    if any(problem.code in stops for problem in page.problems):
        return result
    if not runner.steps_here(page, device) and not expressions:
        result.run = Run()
        return result
    expressions = sorted({*expressions, *config.evaluate})
    if recalls:
        result.run = cache.load(config, page, expressions, device)
        if (
            device
            and result.run is None
            and not any(b.output and b.output.device for b in page.blocks)
        ):
            elsewhere = cache.load(config, page, expressions, "")
            if elsewhere and config.device_variable not in elsewhere.variables:
                result.run = elsewhere  # it is the same on every device
        result.cached = result.run is not None
    if result.run is None and runs:
        result.run = run(config, page, expressions, device)
        if device and config.device_variable in result.run.variables:
            again = run(config, page, expressions, device)
            result.problems += _unsteady(page, result.run, again, device)
        for text in config.evaluate:
            if isinstance(value := result.run.values.get(text), Failure):
                message = f"{text} fails: {value.kind}: {value.message}"
                hint = "correct `evaluate` under [tool.driftproof]"
                result.problems.append(Problem("evaluate", "pyproject.toml", 1, message, hint))
        _keep(config, result, device)
    return result


def _keep(config: Config, result: Result, device: str) -> None:
    """Keep a run that succeeded, if this machine made it or would have made the same."""
    page, run = result.page, result.run
    assert run is not None
    failed = run.failure or any(isinstance(value, Failure) for value in run.values.values())
    if failed or result.problems:
        return
    if result.conditions and result.conditions != cache.conditions(config, device, run):
        return  # it holds only there
    if wrong := cache.store(config, page, device, run):
        result.notes.append(Problem("cache", page.path, 1, wrong, _CACHE))


def _unsteady(page: Page, first: Run, second: Run, device: str) -> list[Problem]:
    """Return the blocks that printed two texts on one device: no tolerance may cover that."""
    found = []
    for block in page.running:
        texts = {run.outputs.get(block.number) for run in (first, second)}
        if len(texts) > 1 and first.failure is None and not (block.output and block.output.is_leaf):
            message = f"two runs on the same {device} device printed two texts"
            hint = "use deterministic algorithms, or declare the output as measured"
            found.append(Problem("unsteady", page.path, block.line, message, hint))
    return found
