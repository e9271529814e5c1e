"""Hands pages to the workers of a Dask cluster.

A worker has driftproof and the packages that pages import; the project travels, once per worker
and content. There a page runs as it would here: in a confined process of its own.
"""

from __future__ import annotations

import hashlib
import logging
import multiprocessing
import os
import re
import socket
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Generator
from concurrent.futures import CancelledError, Executor, Future, InvalidStateError
from contextlib import contextmanager, suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from driftproof import cache, kept, machine
from driftproof.config import Config
from driftproof.page import Page
from driftproof.parcel import packed, unpacked
from driftproof.problem import DriftproofError
from driftproof.results import Result

VARIABLE = "DRIFTPROOF_SCHEDULER"
_PATIENCE = 5
"""Seconds to wait for a scheduler's answer."""
_ADDRESS = re.compile(r"(tcp|tls)://\[?(?P<host>[^/\s\]]+)\]?:(?P<port>\d+)")


@contextmanager
def connected(config: Config, device: str = "", address: str = "") -> Generator[Executor | None]:
    """Connect to a scheduler and give what hands pages to its workers; None if none is named.

    Args:
        config: The project's settings.
        device: Where it is one, pages go to workers that were started with the resource GPU.
        address: The scheduler, by default what the variable DRIFTPROOF_SCHEDULER says.

    Raises:
        DriftproofError: The scheduler does not answer, or has no worker that could run the pages.
    """
    address = address or os.environ.get(VARIABLE, "")
    if not address:
        yield None
        return
    with _client(address) as client:
        _see_workers(client, address, device)
        resources = {"resources": {"GPU": 1}} if device else {}
        executor = _Elsewhere(client, config, client.get_executor(pure=False, **resources))
        from distributed import KilledWorker

        try:
            yield executor
        except KilledWorker as error:
            page = str(error.task[1]) if isinstance(error.task, tuple) else "driftproof"
            message = f"workers died while they ran this page, {error.allowed_failures + 1} in all"
            hint = "see what the page asks of a machine, and what the workers' logs say"
            raise DriftproofError("workers", message, hint, page) from None
        except CancelledError:
            message = f"the scheduler at {address} has gone"
            raise DriftproofError("scheduler", message, "start it again, then repeat") from None


@contextmanager
def _client(address: str) -> Generator[Any]:
    """Connect to a scheduler, and keep what Dask says of it to itself."""
    import asyncio  # it takes long, and most commands connect to nothing

    try:
        from dask import config
        from distributed import Client
    except ImportError as error:
        hint = "install the extra `cluster`"
        raise DriftproofError("no-package", f"{error.name} is missing", hint) from None
    for name in ("distributed", "distributed.client", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    config.set(
        {
            "distributed.admin.large-graph-warning-threshold": "1 GB",
            "distributed.comm.timeouts.connect": _PATIENCE,
        }
    )
    match = _ADDRESS.fullmatch(address)
    if not match:
        message = f"{address!r} is not the address of a scheduler"
        raise DriftproofError("scheduler", message, "it is like tcp://host:8786")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of versions that differ; what matters is compared below
        try:
            asyncio.run(_greet(address, match["host"], int(match["port"])))
            client = Client(address, timeout=_PATIENCE, set_as_default=False)
        except Exception as error:  # whatever it is that listens there
            why = getattr(error, "strerror", None) or str(error) or "no word within the time"
            message = f"no scheduler answers at {address} ({why})"
            hint = "start `dask scheduler` there, or correct the address"
            raise DriftproofError("scheduler", message, hint) from None
    with client:
        yield client


async def _greet(address: str, host: str, port: int) -> None:
    """Raise in time if no scheduler answers: a client tries again and again, or waits for ever."""
    import asyncio

    from distributed import Security
    from distributed.comm import connect

    socket.create_connection((host, port), _PATIENCE).close()
    security = Security().get_connection_args("client")
    comm = await asyncio.wait_for(connect(address, _PATIENCE, **security), _PATIENCE)
    await comm.close()


def _see_workers(client: Any, address: str, device: str) -> None:
    """Raise unless there are workers, all with this driftproof, and some with the device."""
    workers = client.scheduler_info()["workers"]
    if not workers:
        hint = f"start some with `dask worker {address}`"
        raise DriftproofError("workers", f"the scheduler at {address} has no workers", hint)
    if device and not any(info["resources"].get("GPU") for info in workers.values()):
        message = f"no worker of {len(workers)} has the resource GPU, which --device asks for"
        hint = f"""start one with `dask worker {address} --resources "GPU=1"`"""
        raise DriftproofError("workers", message, hint)
    for worker, there in client.run(code, on_error="return").items():
        _see_code(worker, there, code())


def _see_code(worker: str, there: object, here: str) -> None:
    if isinstance(there, Exception):
        message = f"the worker at {worker} cannot load driftproof: {there}"
        raise DriftproofError("workers", message, "install what is installed here")
    if there != here:
        message = f"the worker at {worker} has driftproof {there}, and here it is {here}"
        raise DriftproofError("workers", message, "install the same there, and start it again")


def code() -> str:
    """Return a short hash of driftproof, as it is installed here."""
    return kept.code()[:8]


class _Elsewhere(Executor):
    """Calls what runs a page where the project has been unpacked.

    Args:
        client: The connection.
        config: The project's settings.
        executor: Dask's own, which hands out what is called.
    """

    def __init__(self, client: Any, config: Config, executor: Any) -> None:
        content = packed(config)
        key = f"driftproof-project-{hashlib.sha256(content).hexdigest()}"
        self.project = client.submit(_unchanged, content, key=key)
        self.client, self.executor = client, executor
        self.futures: list[Future[Any]] = []
        threading.Thread(target=self._watch, daemon=True).start()
        self.group = f"page-{uuid.uuid4().hex}"  # of one group Dask learns how long a page takes
        self.variables = {
            name: value
            for name, value in os.environ.items()
            if any(fnmatchcase(name, pattern) for pattern in config.variables)
        }

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call `fn(config, page, …)` on a worker; the page gives the task its name."""
        _, page, *_ = args
        key = (self.group, page.path)
        future = self.executor.submit(
            _there, self.project, code(), self.variables, fn, *args, **kwargs, key=key
        )
        self.futures.append(future)
        return future

    def _watch(self) -> None:
        """Give up what is awaited once the connection has ended: Dask forgets some of it then."""
        while self.client.status != "closed":
            time.sleep(0.5)
        for future in self.futures:
            with suppress(InvalidStateError):  # it is known how that one ended
                future.set_exception(CancelledError())

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End; without waiting, what has not begun never begins."""
        import asyncio

        with suppress(Exception, asyncio.CancelledError):  # the scheduler may have gone
            self.executor.shutdown(wait=wait)


def _unchanged(content: bytes) -> bytes:
    """Return what is given: as a task's result Dask takes it to each worker that needs it, once."""
    return content


def _there(
    content: bytes,
    driftproof: str,
    variables: dict[str, str],
    call: Callable[..., Result],
    config: Config,
    page: Page,
    expressions: list[str],
    device: str,
    **options: Any,
) -> Result:
    """Call what runs a page, on a worker, and say what machine that is."""
    from distributed import get_worker

    worker = get_worker()
    _see_code(worker.address, code(), driftproof)  # it may have come after the others were asked
    # A worker is the daemon of the process that watches it, and multiprocessing denies daemons
    # children, lest they outlive them. Ours end with their fork server, and that with the worker.
    multiprocessing.current_process().daemon = False
    folder = Path(worker.local_directory).resolve()
    try:
        with unpacked(content, folder / "driftproof") as root:
            there = replace(
                config,
                root=root,
                cache=str(folder.parent / "driftproof"),  # shared by the workers of this machine
                environment={
                    **{name: v for name, v in variables.items() if os.environ.get(name) != v},
                    **config.environment,
                },
            )
            result = call(there, page, expressions, device, **options)
            if run := result.run:
                result.machine = machine.described(run.modules)
                result.conditions = cache.conditions(there, device, run)
    except OSError as error:
        message = f"the worker at {worker.address} cannot run a page: {error.strerror or error}"
        hint = "see what it has left: room on its disk, memory, processes"
        raise DriftproofError("workers", message, hint, page.path) from None
    return result
