"""What a hostile page cannot do, and, where docs/contributing/containment.md says so, what it can.

Every attempt is real: the page tries it, in the process in which pages run.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path

import pytest

from driftproof import family, runner

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="confined by Landlock and /proc")


def run(project, *blocks, expressions=()):
    page = "".join(f"```python\n{block}\n```\n\n" for block in blocks)
    return runner.run(project.config, project.parse(page), list(expressions))


def printed(project, *blocks):
    result = run(project, *blocks)
    assert result.failure is None, result.failure
    return "\n".join(result.outputs.values())


def kind(result):
    assert result.failure is not None, result.outputs
    return result.failure.kind


# Secrets.


def test_a_page_sees_no_variable_of_the_command_but_those_of_the_system(project, monkeypatch):
    monkeypatch.setenv("DEPLOY_TOKEN", "hunter2")
    monkeypatch.setenv("BOOK_FLAG", "let through")
    project.configure(variables=["BOOK_*"])
    code = "import os\nprint(os.environ.get('DEPLOY_TOKEN'), os.environ['BOOK_FLAG'])"
    assert "None let through" == printed(project, code)


SEARCH = """\
```python
import glob, subprocess

def read(path):
    try:
        return open(path, "rb").read()
    except OSError:
        return b""

found = [path for path in glob.glob("/proc/[0-9]*/environ") if b"hunter2" in read(path)]
shell = subprocess.run("cat /proc/*/environ 2>/dev/null", shell=True, capture_output=True)
print(found, b"hunter2" in shell.stdout)
```

```output
[] False
```
"""


@on_linux
def test_no_process_in_reach_shows_the_environment_of_the_command(project):
    project.write("docs/page.md", SEARCH)
    done = project.command("driftproof.cli", "check", DEPLOY_TOKEN="hunter2")
    assert 0 == done.returncode, done.stdout


# Files.

OUTSIDE = {
    "python": "open({path!r}, 'w')",
    "shell": "import subprocess\nsubprocess.run(['sh', '-c', 'echo x > {path}'], check=True)",
    "c": """\
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
file = libc.open(b"{path}", 0o101, 0o644)
if file < 0:
    raise PermissionError(ctypes.get_errno())""",
}


@on_linux
@pytest.mark.parametrize("way", OUTSIDE)
@pytest.mark.parametrize("place", ["project", "cache", "home", "temporary"])
def test_a_page_writes_into_its_own_folder_only(project, tmp_path_factory, way, place):
    folder = {
        "project": project.root / "docs",
        "cache": project.root / ".driftproof",
        "home": Path.home(),
        "temporary": tmp_path_factory.mktemp("temporary"),
    }[place]
    folder.mkdir(exist_ok=True)
    target = folder / f"left-by-a-page-{os.getpid()}"
    result = run(project, OUTSIDE[way].format(path=str(target)))
    assert kind(result) in ("PermissionError", "CalledProcessError")
    assert not target.exists()


@on_linux
@pytest.mark.parametrize(
    "command", ["rm docs/kept.md", "mv docs/kept.md .", "echo x >> docs/kept.md", "rm -r docs/."]
)
def test_a_command_cannot_change_what_is_there(project, command):
    project.write("docs/kept.md", "kept")
    code = f"import subprocess\nsubprocess.run({command!r}, shell=True, stderr=-3)\nprint('tried')"
    assert "tried" == printed(project, code)
    assert "kept" == project.read("docs/kept.md")


def test_temporary_files_go_with_the_page(project):
    code = "import tempfile\nfile = tempfile.NamedTemporaryFile(delete=False)\nprint(file.name)"
    assert not Path(printed(project, code)).exists()


def test_no_file_grows_beyond_a_gigabyte(project):
    code = "with open('big', 'wb') as file:\n    file.truncate(2**30)\n    file.truncate(2**30 + 1)"
    result = run(project, code)
    assert "OSError" == kind(result)
    assert "too large" in result.failure.message.lower()


@on_linux
def test_memory_ends_before_that_of_the_machine(project):
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert "MemoryError" == kind(run(project, f"bytearray({memory})"))


# Networks.


@pytest.fixture
def server():
    """A port of this machine on which something listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


NETWORK = {
    "tcp": "import socket\nsocket.create_connection(('127.0.0.1', {port}), 5)",
    "udp": "import socket\nsocket.socket(type=2).sendto(b'x', ('127.0.0.1', {port}))",
    "names": "import socket\nsocket.getaddrinfo('localhost', {port})",
    "listening": "import socket\nsocket.socket().bind(('127.0.0.1', 0))",
    "urllib": "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:{port}', timeout=5)",
}


@pytest.mark.parametrize("way", NETWORK)
def test_a_page_reaches_no_network(project, server, way):
    result = run(project, NETWORK[way].format(port=server))
    assert "a block cannot use a network" in f"{result.failure}"


def test_processes_of_a_page_talk_to_each_other(project):
    code = """\
import multiprocessing, socket
a, b = socket.socketpair()
a.send(b"4")
context = multiprocessing.get_context("fork")
with context.Pool(1) as pool:
    print(b.recv(1), pool.map(abs, [-4]))"""
    assert "b'4' [4]" == printed(project, code)


@on_linux
def test_a_command_of_a_page_reaches_no_port(project, server):
    if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 7):
        pytest.skip("this kernel's Landlock knows no ports")
    connect = f"import socket; socket.create_connection(('127.0.0.1', {server}), 5)"
    code = f"""\
import subprocess, sys
done = subprocess.run([sys.executable, "-c", {connect!r}], capture_output=True, text=True)
print("[Errno 13]" in done.stderr)"""
    assert "True" == printed(project, code)


# Processes and time.


@on_linux
def test_a_page_cannot_end_the_command_or_another_page(project):
    project.write("docs/other.md", "```python\nimport time\ntime.sleep(1)\n```\n")
    code = f"""\
import os, signal
tried = 0
for process in ({os.getpid()}, os.getppid()):
    try:
        os.kill(process, signal.SIGKILL)
    except PermissionError:
        tried += 1
print(tried, "refused")"""
    project.write("docs/kills.md", f"```python\n{code}\n```\n\n```output\n2 refused\n```\n")
    assert [] == project.check().problems


def test_ignored_signals_do_not_save_a_page_from_its_deadline(project):
    project.configure(timeout=0.5)
    code = """\
import signal
for each in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(each, signal.SIG_IGN)
while True:
    try:
        while True:
            pass
    except BaseException:
        pass"""
    began = time.monotonic()
    assert "Deadline" == kind(run(project, code))
    assert 20 > time.monotonic() - began


@on_linux
def test_what_forks_without_end_is_ended_with_its_page(project):
    project.configure(timeout=1)
    code = """\
import os, time
for _ in range(7):
    os.fork()
    os.setsid() if os.getpid() != os.getpgid(0) else None
time.sleep(60)"""
    assert kind(run(project, code)) in ("Deadline", "ProcessLeft")
    time.sleep(0.2)
    left = [p for p in Path("/proc").glob("[0-9]*/stat") if _is_orphan_of_a_page(p)]
    assert [] == left


def _is_orphan_of_a_page(stat):
    """Whether a process is a child of this one's fork server that is no zombie."""
    try:
        state, parent = stat.read_text().rpartition(") ")[2].split()[:2]
    except OSError:
        return False
    return state != "Z" and int(parent) == family._server._forkserver_pid


def test_a_page_that_prints_for_ever_is_ended(project):
    project.configure(max_output=20_000)
    assert "TooMuchOutput" == kind(run(project, "while True:\n    print('x' * 1000)"))


# The machinery.

PIPE = """\
import gc, os
from multiprocessing.connection import Connection
ends = [one for one in gc.get_objects() if isinstance(one, Connection)]
(control,) = [end for end in ends if end.writable and end.readable]
"""
FORGERIES = {
    "a pickle": "control.send(('end', 1, None, None, 0.0))",
    "not JSON": "os.write(control.fileno(), b'x' * 100 + b'\\n')",
    "another block": "os.write(control.fileno(), b'[\"end\", 7, null, null, 0]\\n')",
    "an unknown field": 'os.write(control.fileno(), b\'["values", {"a": {"kind": 1}}]\\n\')',
    "a value that is no value": 'os.write(control.fileno(), b\'["values", {"a": []}]\\n\')',
    "nesting": "os.write(control.fileno(), b'[' * 60000 + b'\\n')",
    "no message": "os.write(control.fileno(), b'[]\\n')",
}


@pytest.mark.parametrize("how", FORGERIES)
def test_what_a_page_writes_into_the_pipe_is_read_as_data_or_refused(project, how):
    result = run(project, f"{PIPE}{FORGERIES[how]}")
    assert "Interfered" == kind(result)


def test_half_a_message_is_not_waited_for(project):
    project.configure(timeout=1)
    code = f"{PIPE}os.write(control.fileno(), b'[\"end\", 1')\nimport time\ntime.sleep(30)"
    assert "Deadline" == kind(run(project, code))


def test_an_object_is_never_unpickled_in_the_command(project, new_outside):
    trace = new_outside() / "trace"
    code = f"""{PIPE}
class Evil:
    def __reduce__(self):
        return (open, ({str(trace)!r}, "w"))
control.send(Evil())"""
    assert "Interfered" == kind(run(project, code))
    assert not trace.exists()


def test_a_page_that_changes_the_worker_changes_it_for_itself(project):
    code = "from driftproof import worker, compare\nworker._run_step = None\ncompare.compare = None"
    run(project, code)
    project.write("docs/other.md", "```python\nprint(4)\n```\n\n```output\n5\n```\n")
    (problem,) = project.check("docs/other.md").problems
    assert "drift" == problem.code


# What docs/contributing/containment.md says is not contained.


def test_a_page_reads_what_its_user_can_read(project, tmp_path_factory):
    secret = tmp_path_factory.mktemp("elsewhere") / "key"
    secret.write_text("hunter2")
    assert "hunter2" == printed(project, f"print(open({str(secret)!r}).read())")


def test_a_page_that_prints_a_constant_agrees_with_its_record(project):
    project.write("docs/page.md", "```python\nprint('0.93')\n```\n\n```output\n0.93\n```\n")
    assert [] == project.check().problems


def test_a_command_of_a_page_sends_datagrams(project):
    with socket.socket(type=socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.settimeout(20)
        port = listening.getsockname()[1]
        send = f"import socket; socket.socket(type=2).sendto(b'out', ('127.0.0.1', {port}))"
        run(project, f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {send!r}])")
        assert b"out" == listening.recv(10)


def test_a_page_writes_many_files(project):
    code = """\
import os
for name in "ab":
    with open(name, "wb") as file:
        file.truncate(2**30)
print(sum(os.stat(name).st_size for name in "ab") > 2**30)"""
    assert "True" == printed(project, code)


def test_a_command_of_a_page_changes_the_mode_of_a_file(project):
    project.write("docs/kept.md", "kept")
    run(project, "import subprocess\nsubprocess.run(['chmod', '600', 'docs/kept.md'])")
    assert 0o600 == (project.root / "docs/kept.md").stat().st_mode & 0o777


@on_linux
def test_shared_memory_stays_open(project, new_outside):
    trace = new_outside() / "trace"
    run(project, f"open({str(trace)!r}, 'w')")
    assert trace.exists()
