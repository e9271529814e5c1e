"""Pages run on the workers of a Dask cluster as they do here: two workers, real ones."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

import driftproof
from driftproof import report as write
from driftproof.cluster import VARIABLE, code, connected
from driftproof.config import load
from driftproof.machine import Elsewhere
from driftproof.parcel import packed
from driftproof.problem import DriftproofError
from driftproof.provenance import facts, output_stamp
from driftproof.render import View, shown

# What Dask sets for its workers, so that runs are made under the same conditions here and there.
THREADS = dict.fromkeys(("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
WHICH = "__import__('os').environ.get('BOOK_WORKER', 'here')"
GADGET = "Metadata-Version: 2.1\nName: gadget\nVersion: {}\n"
SLOW = "```python\nimport time\n\ntime.sleep({})\n```\n"
PAGES = {
    "docs/numbers.md": """\
Half is <data value="half">0.5</data>.

```python
from decay import left
half = left(1)
print(f"{half:.3f}", open("docs/data.txt").read().strip())
```

```output
0.500 four
```
""",
    "docs/borrows.md": 'Elsewhere it is <data value="numbers:half">0.5</data>.\n',
    "docs/drifts.md": "```python\nprint(0.25)\n```\n\n```output\n0.26\n```\n",
    "docs/breaks.md": "Text.\n\n```python\nfrom decay import left\nleft(None)\n```\n",
    "docs/ends.md": "```python\nimport os\nos.kill(os.getpid(), 9)\n```\n",
}


class Cluster:
    """A scheduler and its workers, each one a command."""

    def __init__(self, folder: Path, *, allowed_failures: int = 3) -> None:
        self.folder, self.commands = folder, []
        file = folder / "scheduler.json"
        failures = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(allowed_failures)}
        self._start("scheduler", "--port", "0", "--scheduler-file", str(file), **failures)
        until(file.exists)
        self.client = Client(scheduler_file=str(file), set_as_default=False, timeout=20)
        self.address = self.client.scheduler_info()["address"]

    def add(self, name: str, *options: str, **variables: str) -> None:
        """Start a worker of one thread; pages find its name in BOOK_WORKER."""
        self._start(
            *("worker", self.address, "--nthreads", "1", "--name", name),
            *("--local-directory", str(self.folder), *options),
            BOOK_WORKER=name,
            **variables,
        )

    def _start(self, *arguments: str, **variables: str) -> None:
        self.commands.append(
            subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments, "--host", "127.0.0.1", "--no-dashboard"],
                env=os.environ | variables,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

    def kept(self) -> list[str]:
        """The pages of which the workers have kept a run."""
        return sorted(p.name.split(".")[0] for p in self.folder.rglob("runs/*.json"))

    def processes(self) -> list[int]:
        """Everything that works for it: workers, fork servers, pages."""
        return [
            int(process.name)
            for process in Path("/proc").glob("[0-9]*")
            if os.fsencode(self.folder) in _read(process / "cmdline") + _read(process / "environ")
        ]

    def close(self) -> None:
        """End the workers, then the scheduler, as an operator would."""
        self.client.close()
        for commands in (self.commands[1:], self.commands[:1]):
            for command in commands:
                command.terminate()
            for command in commands:
                command.wait(20)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def until(happens: Callable[[], object], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers, of which one has the resource GPU."""
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    gadget = cluster.folder / "gadget-2.0.dist-info"
    gadget.mkdir()
    (gadget / "METADATA").write_text(GADGET.format("2.0"))
    (gadget / "top_level.txt").write_text("gadget\n")
    (cluster.folder / "gadget.py").write_text("")
    found = _with(str(cluster.folder))
    cluster.add("plain", PYTHONPATH=found)
    cluster.add("gpu", "--resources", "GPU=1", PYTHONPATH=found)
    cluster.client.wait_for_workers(2, timeout=20)
    yield cluster
    assert len(cluster.processes()) > 4
    cluster.close()
    until(lambda: not cluster.processes(), 10)  # neither workers are left nor what they started


@pytest.fixture(autouse=True, scope="module")
def silent(new_project) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A check whose scheduler never says a word, begun before the tests: it takes its time."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        yield start(new_project().root, address), address


@pytest.fixture
def book(project):
    """A book of pages that agree, drift, fail and end their process."""
    project.configure(evaluate=[WHICH], variables=["BOOK_*"])
    project.write("pyproject.toml", project.read("pyproject.toml") + environment())
    project.write("src/decay.py", "def left(n):\n    return 0.5**n\n")
    project.write("docs/data.txt", "four\n")
    for path, text in PAGES.items():
        project.write(path, text)
    return project


def environment() -> str:
    lines = [f'{name} = "{value}"' for name, value in THREADS.items()]
    return "\n".join(["[tool.driftproof.environment]", *lines, ""])


def check(project, cluster, *paths, device=""):
    with connected(project.config, device, cluster.address) as executor:
        return project.check(*paths, device=device, executor=executor)


def workers(report):
    """The names of the workers that ran pages."""
    return {r.run.values[WHICH] for r in report.results.values() if r.run and r.run.values}


def start(root: Path, address: str) -> subprocess.Popen[str]:
    """Start a check of the project in `root`, which says everything on its standard output."""
    return subprocess.Popen(
        [sys.executable, "-m", "driftproof.cli", "check", "--scheduler", address],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def forget(project) -> None:
    shutil.rmtree(project.root / ".driftproof", ignore_errors=True)


def test_a_report_from_two_workers_is_the_one_made_here(book, cluster):
    for number in range(4):
        book.write(f"docs/slow-{number}.md", SLOW.format(0.3))
    report = check(book, cluster)
    assert {"plain", "gpu"} == workers(report)
    forget(book)
    here = book.check()
    assert {"here"} == workers(here)
    assert write.as_json(here) == write.as_json(report)
    assert write.as_junit(here) == write.as_junit(report)
    assert ["block-failed", "drift", "block-failed"] == [p.code for p in report.problems]
    assert str(report.problems[0]).startswith("docs/breaks.md:5: TypeError: ")
    assert "src/decay.py:2, in left: return 0.5**n" in report.problems[0].detail
    assert "killed by SIGKILL" in report.problems[2].message


def test_runs_that_come_back_are_kept_where_they_would_be_the_same(book, cluster):
    book.write("docs/slow.md", SLOW.format(0))
    agreeing = ["docs/numbers.md", "docs/slow.md"]
    assert [] == check(book, cluster, *agreeing).problems
    report = book.check(*agreeing)
    assert (0, 2) == (report.counts["ran"], report.counts["recalled"])
    assert {"plain", "gpu"} >= workers(report), "they are the workers' runs"


def test_a_run_under_other_versions_is_kept_by_the_worker_alone(book, cluster, tmp_path):
    book.write("docs/uses.md", "```python\nimport gadget\nprint(2)\n```\n")
    mine = tmp_path / "gadget-1.0.dist-info"
    book.write(f"{mine.name}/METADATA", GADGET.format("1.0"))
    book.write(f"{mine.name}/top_level.txt", "gadget\n")
    book.write("gadget.py", "")
    path = _with(str(tmp_path))
    run = ("driftproof.cli", "record", "docs/uses.md", "--scheduler", cluster.address)
    assert 0 == book.command(*run, PYTHONPATH=path).returncode
    assert "gadget 2.0; " in book.read("docs/uses.md"), "the stamp is the worker's"
    done = book.command("driftproof.cli", "check", "docs/uses.md", PYTHONPATH=path)
    assert "1 ran, 0 from cache, 1 agreed" in done.stdout, done.stdout
    again = check(book, cluster, "docs/uses.md")
    assert "gadget 2.0" in facts(again.results["docs/uses.md"], again).versions
    assert (0, 1) == (again.counts["ran"], again.counts["recalled"]), "it was the worker's to keep"


def test_a_page_is_stamped_with_the_machine_that_ran_it(book):
    report = book.check("docs/numbers.md")
    (result,) = report.results.values()
    view = View(result.page, report, book.read("docs/numbers.md"), frozenset())
    before = shown(view)
    result.machine = Elsewhere("aarch64 SVE", "", 64, "3.13.1", {}, {"numpy": "2.4.6"})
    (block,) = result.page.blocks
    assert "ran in this build on aarch64 SVE, CPU" == output_stamp(block, result, report)
    assert "aarch64 SVE, CPU" == facts(result, report).machine
    assert before != shown(view), "or HTML that another run was shown in would be recalled"


def test_pages_for_a_device_go_to_the_workers_that_have_one(book, cluster):
    paths = [book.write(f"docs/slow-{n}.md", SLOW.format(0.1)) for n in range(4)]
    assert {"gpu"} == workers(check(book, cluster, *paths, device="cuda"))


def test_variables_that_the_project_lets_through_travel(book, cluster, monkeypatch):
    monkeypatch.setenv("BOOK_FLAG", "four")
    book.write("docs/asks.md", "```python\nimport os\nprint(os.environ['BOOK_FLAG'])\n```\n")
    report = check(book, cluster, "docs/asks.md")
    assert "four" == report.results["docs/asks.md"].run.outputs[1]


def test_a_build_runs_its_pages_where_the_variable_says(book, cluster):
    for path in ("docs/breaks.md", "docs/drifts.md", "docs/ends.md"):
        (book.root / path).unlink()
    book.add_site()
    done = book.command("mkdocs", "build", **{VARIABLE: cluster.address})
    assert 0 == done.returncode, done.stdout
    assert {"plain", "gpu"} >= workers(book.check())
    assert "ran in this build on" in book.read("site/numbers/index.html")


def test_a_worker_with_another_driftproof_is_named_with_both(book, cluster, tmp_path):
    package = Path(driftproof.__file__).parent
    shutil.copytree(package, tmp_path / "other/driftproof")
    book.write("other/driftproof/decoy.py", "")
    run = ("driftproof.cli", "check", "--scheduler", cluster.address)
    done = book.command(*run, PYTHONPATH=str(tmp_path / "other"))
    assert 2 == done.returncode
    assert f"has driftproof {code()}, and here it is " in done.stdout
    assert done.stdout.startswith("driftproof: the worker at tcp://127.0.0.1:")


def test_a_worker_that_dies_gives_its_page_to_another(book, cluster):
    book.write("docs/slow.md", SLOW.format(1))
    thread, reports = begun(lambda: check(book, cluster, "docs/slow.md"), cluster)
    (address,) = running(cluster)
    worker = cluster.client.run(os.getpid, workers=[address])[address]
    pages = descendants(worker)
    os.kill(worker, signal.SIGKILL)
    thread.join(20)
    assert [] == reports[0].problems
    assert 1 == reports[0].counts["ran"]
    until(lambda: not any(map(alive, pages)))
    cluster.client.wait_for_workers(2, timeout=20)


def test_an_interrupt_takes_back_what_has_not_begun(book, cluster):
    names = [f"slow-late-{number}" for number in range(6)]
    for name in names:
        book.write(f"docs/{name}.md", SLOW.format(1))
    command = start(book.root, cluster.address)
    until(lambda: len(running(cluster)) == 2)
    command.send_signal(signal.SIGINT)
    said, _ = command.communicate(timeout=20)
    assert (130, "driftproof: stopped\n") == (command.returncode, said)
    until(lambda: not running(cluster))
    time.sleep(0.2)
    assert len([page for page in cluster.kept() if page.startswith("docs-slow-late")]) <= 2


# What is wrong with a cluster is said at once.


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler that gives a page up with its first worker, and has no worker yet."""
    cluster = Cluster(tmp_path_factory.mktemp("other"), allowed_failures=0)
    yield cluster
    cluster.close()


def refused(project, address, device="") -> str:
    began = time.monotonic()
    with pytest.raises(DriftproofError) as error, connected(project.config, device, address):
        pytest.fail("it is connected")
    assert time.monotonic() - began < 8
    return str(error.value)


def test_a_scheduler_without_workers_is_said_to_have_none(project, other):
    said = refused(project, other.address)
    assert said.startswith(f"driftproof: the scheduler at {other.address} has no workers [workers]")


@pytest.fixture(scope="module")
def lonely(other) -> Cluster:
    """The same scheduler with a single worker, which has no GPU."""
    other.add("only")
    other.client.wait_for_workers(1, timeout=20)
    return other


def test_a_device_that_no_worker_has_is_missed_at_once(project, lonely):
    assert "no worker of 1 has the resource GPU" in refused(project, lonely.address, "cuda")


def failure(project, cluster, *paths) -> str:
    with pytest.raises(DriftproofError) as error:
        check(project, cluster, *paths)
    return str(error.value)


def test_what_a_worker_cannot_do_is_said_in_a_line(book, lonely):
    (folder,) = lonely.client.run(lambda dask_worker: dask_worker.local_directory).values()
    taken = Path(folder, "driftproof")
    taken.write_text("not a folder")
    said = failure(book, lonely, "docs/numbers.md")
    taken.unlink()
    (address,) = lonely.client.run(os.getpid)
    assert said.startswith(f"docs/numbers.md: the worker at {address} cannot run a page: ")


def test_a_page_that_outlives_no_worker_ends_the_check(book, lonely):
    book.write("docs/slow.md", SLOW.format(9))
    thread, said = begun(lambda: failure(book, lonely, "docs/slow.md"), lonely)
    (worker,) = lonely.client.run(os.getpid).values()
    os.kill(worker, signal.SIGKILL)
    thread.join(20)
    assert said[0].startswith("docs/slow.md: workers died while they ran this page, 1 in all")


def test_a_scheduler_that_goes_ends_the_check_without_a_trace(book, lonely):
    book.write("docs/slow.md", SLOW.format(9))
    lonely.client.wait_for_workers(1, timeout=20)  # the one that was ended comes back
    command = start(book.root, lonely.address)
    until(lambda: running(lonely))
    lonely.commands[0].kill()
    said, _ = command.communicate(timeout=20)
    assert 2 == command.returncode, said
    assert said.startswith(f"driftproof: the scheduler at {lonely.address} has gone [scheduler]")
    assert 2 == len(said.splitlines()), said


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("tcp://127.0.0.1:9", "(Connection refused) [scheduler]"),
        ("tcp://no-such-host.invalid:8786", "no scheduler answers at tcp://no-such-host.invalid"),
        ("127.0.0.1:8786", "'127.0.0.1:8786' is not the address of a scheduler"),
        ("tcp://127.0.0.1", "is not the address of a scheduler"),
        ("tcp://127.0.0.1:99999", "no scheduler answers"),
    ],
)
def test_an_address_that_leads_to_no_scheduler_is_an_error(project, address, says):
    assert says in refused(project, address)


def test_what_listens_there_may_be_no_scheduler(silent):
    command, address = silent
    said, _ = command.communicate(timeout=20)
    expected = f"driftproof: no scheduler answers at {address} (no word within the time) "
    assert (2, True) == (command.returncode, said.startswith(expected)), said


def test_a_call_without_the_extra_says_which(project):
    project.write("missing/distributed.py", "raise ImportError(name='distributed')\n")
    run = ("driftproof.cli", "check", "--scheduler", "tcp://127.0.0.1:9")
    done = project.command(*run, PYTHONPATH=_with(str(project.root / "missing")))
    expected = "driftproof: distributed is missing [no-package]\n    install the extra `cluster`\n"
    assert (2, expected) == (done.returncode, done.stdout)


# What travels, and the folder that may.


def test_a_parcel_depends_on_names_and_contents_alone(book, tmp_path_factory):
    before = packed(book.config)
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "book"
    shutil.copytree(book.root, elsewhere, copy_function=shutil.copyfile)
    (elsewhere / ".driftproof").mkdir()
    (elsewhere / "src/.hidden").write_text("no")
    (elsewhere / "src/outside").symlink_to("/etc/hostname")
    assert before == packed(load(elsewhere))
    (elsewhere / "docs/data.txt").write_text("five\n")
    assert before != packed(load(elsewhere))


def test_a_cache_folder_holds_in_another_place_at_another_time(book, tmp_path_factory):
    agreeing = ["docs/numbers.md", "docs/borrows.md"]
    assert [] == book.check(*agreeing).problems
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "book"
    shutil.copytree(book.root, elsewhere, copy_function=shutil.copyfile)
    for path in elsewhere.rglob("*"):
        os.utime(path, (1, 1))
    book.root = elsewhere
    report = book.check(*agreeing)
    assert (0, 1) == (report.counts["ran"], report.counts["recalled"])
    assert [] == report.problems


def _with(folder: str) -> str:
    """The value of PYTHONPATH by which `folder` is searched first."""
    return os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])


def running(cluster) -> list[str]:
    """The workers that run a page now."""
    work = cluster.client.processing()
    return [w for w, keys in work.items() if any("docs/slow" in str(key) for key in keys)]


def begun(call: Callable[[], Any], cluster: Cluster) -> tuple[threading.Thread, list[Any]]:
    """Call in a thread, and wait until a worker runs the page; the list will have what it gives."""
    given: list[Any] = []
    thread = threading.Thread(target=lambda: given.append(call()))
    thread.start()
    until(lambda: running(cluster))
    return thread, given


def descendants(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task").glob("*/children")
    found = [int(child) for file in children for child in file.read_text().split()]
    return found + [below for child in found for below in descendants(child)]


def alive(pid: int) -> bool:
    return _read(Path(f"/proc/{pid}/stat")).rpartition(b") ")[2][:1] not in (b"", b"Z")
