"""A served book after edits drawn at random: it shows what a build from nothing does.

`SERVED=100 SEED=7 pytest tests/driftproof/incremental/test_served_edits.py` draws as many others.
What is compared is the folder that is served, byte by byte, but for the archive of the site map,
in which the port is pressed. Pictures and full values come with the runs, so that the folder is
compared after one more build, when all pages are verified.
"""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc")
PATIENCE = 60
UNSEEN = ("edit_template", "edit_part_of_a_template", "edit_hook", "edit_cache_changed",
          "edit_site_changed", "edit_record", "edit_nothing")  # fmt: skip
"""Edits of what `mkdocs serve` does not watch, or which are none."""
RUN = re.compile(
    rb"<figure.*?</figure>|<data [^>]*>(?:<a [^>]*>)?"
    rb'|<p class="driftproof-stamp">.*?</p>',
    re.DOTALL,
)
"""What comes with a run, and is on a page from the next build on."""


class Server:
    """`mkdocs serve` in the folder of a book."""

    def __init__(self, book):
        self.book, self.log = book, book.root.with_name("serve.log")
        self.temporary = book.root.with_name("temporary")
        self.temporary.mkdir(exist_ok=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        variables = {
            "MARK": str(book.root),
            "NO_MKDOCS_2_WARNING": "1",
            "SOURCE_DATE_EPOCH": "1700000000",
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(self.temporary),
        }
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mkdocs", "serve", "-a", f"127.0.0.1:{self.port}"],
                cwd=book.root,
                env=os.environ | variables,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.until(lambda: self.state("index.md"))

    def until(self, condition):
        """Wait until a condition holds."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            assert self.process.poll() is None, self.log.read_text()
            with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
                if found := condition():
                    return found
            time.sleep(0.02)
        raise AssertionError(f"not within {PATIENCE} s:\n{self.log.read_text()[-3000:]}")

    def state(self, page):
        """Return the state of a page."""
        at = "" if page == "index.md" else f"{page.removesuffix('.md')}/"
        address = f"http://127.0.0.1:{self.port}/book/{at}driftproof-status.json"
        with urllib.request.urlopen(address, timeout=5) as answer:
            return json.loads(answer.read())["state"]

    def builds(self):
        """Return how many builds have begun, and how many have ended."""
        log = self.log.read_text()
        failed = log.count("An error happened during the rebuild")  # of a file that was away
        return log.count("Building documentation..."), log.count("Reloading browsers") + failed

    def settle(self, builds):
        """Wait until more builds than so many have ended, and nothing is to be checked any more."""
        docs = self.book.root / "docs"
        pages = [path.relative_to(docs).as_posix() for path in docs.rglob("*.md")]
        self.until(lambda: self.builds()[0] > builds)
        seen = 0
        while seen != self.builds()[0]:  # the next of several edits may be on its way
            seen = self.builds()[0]
            self.until(lambda: self.builds()[0] == self.builds()[1] + 1)
            self.until(lambda: all(self.state(page) != "checking" for page in pages))
            time.sleep(0.3)

    def site(self):
        """Return the files of the folder that is served."""
        (folder,) = self.temporary.glob("mkdocs_*")
        return plain(folder, self.port)

    def stop(self, how=signal.SIGINT):
        """End the server."""
        self.process.send_signal(how)
        self.process.wait(PATIENCE)


def plain(folder, port):
    """Return the files of a served site, with one port."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().replace(b":%d/" % port, b":8000/")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "sitemap.xml.gz"
    }


def cold(book):
    """Return what is served of the same sources when nothing is known but what their blocks do."""
    book.copy()
    book.zygote.run(book.cold, "driftproof", "check")
    folder = book.cold / "served"
    built = book.zygote.run(book.cold, "serve-once", str(folder))
    assert 0 == built.code, built.log
    return plain(folder, 8000)


def without_runs(site):
    return {n: RUN.sub(b"", text) for n, text in site.items() if n != "search/search_index.json"}


def processes(mark):
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes():
                found.append(folder.name)
    return found


@pytest.fixture
def server(book):
    yield from served(book)


def served(book):
    """Serve a book, and end that however the test ends."""
    server = Server(book)
    yield server
    if server.process.poll() is None:
        server.stop(signal.SIGKILL)


@pytest.mark.parametrize("seed", [int(seed) for seed in os.environ.get("SEED", "1").split()])
def test_a_served_book_after_random_edits_is_that_from_nothing(
    server, book, new_author, differences, seed
):
    author = new_author(seed, *UNSEEN)
    server.settle(0) if server.builds()[0] > 1 else None
    for _ in range(int(os.environ.get("SERVED", "4"))):
        builds, before = server.builds()[0], book.sources()
        count = author.random.choice([1, 1, 2, 3])
        for _ in range(count):
            book.style = author.random.choice(["write", "rename", "delete"])
            print(author.edit(), book.style, flush=True)
            time.sleep(author.random.choice([0, 0, 0.1, 0.3, 1]) if count > 1 else 0)
        if book.sources() == before:
            time.sleep(1)  # a file that was touched is a build as well
            continue
        server.settle(builds)
        truth = cold(book)
        again = server.builds()[0]
        differences(without_runs(truth), without_runs(server.site()))
        book.style = "write"
        book.write("docs/assets/extra.css", book.read("docs/assets/extra.css"))
        server.settle(again)
        differences(truth, server.site())
        time.sleep(0.3)
        assert again + 1 == server.builds()[0]
        author.learn(built=book.build().code == 0)
    server.stop()
    assert [] == processes(str(book.root))


@pytest.fixture
def light_server(light):
    yield from served(light)


def test_each_way_to_change_the_files_is_one_build(light_server, differences):
    server, book = light_server, light_server.book
    outside = book.root.with_name("outside")
    outside.mkdir()

    def folder_made():
        book.write("docs/deep/down/page.md", "# Deep\n")

    def folder_renamed():
        book.path("docs/deep").rename(book.path("docs/flat"))

    def folder_moved_out():
        book.path("docs/flat").rename(outside / "flat")

    def folder_moved_in():
        (outside / "flat").rename(book.path("docs/again"))

    def folder_deleted():
        shutil.rmtree(book.path("docs/again"))

    def written_in_pieces():
        with book.path("docs/other.md").open("a") as page:
            for word in ("one", "two", "three"):
                page.write(f"\n\n{word}\n")
                page.flush()
                time.sleep(0.01)

    def saved_as_vim_does():
        page = book.path("docs/other.md")
        text = page.read_text()
        book.path("docs/4913").touch()
        book.path("docs/4913").unlink()
        page.rename(book.path("docs/other.md~"))
        page.write_text(f"{text}\nvim\n")
        book.path("docs/other.md~").unlink()

    def settings_replaced():
        book.style = "rename"
        book.replace("mkdocs.yml", "Light", "Lighter")

    def settings_replaced_again():
        book.replace("mkdocs.yml", "Lighter", "Lightest")

    def snippet_replaced():
        book.replace("snippets/note.md", "A note", "My note")

    def touched():
        book.path("docs/third.md").touch()

    changes = (
        touched,
        folder_made,
        folder_renamed,
        folder_moved_out,
        folder_moved_in,
        folder_deleted,
        written_in_pieces,
        saved_as_vim_does,
        settings_replaced,
        settings_replaced_again,
        snippet_replaced,
    )
    for change in changes:
        begun, ended = server.builds()
        change()
        server.settle(begun)
        differences(cold(book), server.site())
        time.sleep(0.5)
        assert (begun + 1, ended + 1) == server.builds(), change.__name__


def test_a_server_that_is_killed_leaves_no_process_and_nothing_half_made(server, book):
    chance = random.Random(int(os.environ.get("SEED", "1").split()[0]))
    for number in range(int(os.environ.get("KILLS", "2"))):
        if number:
            server = Server(book)
        book.replace("docs/decay.md", "left(10):", f"left({11 + number}):")
        time.sleep(chance.random() * 1.5)
        server.stop(signal.SIGKILL)
        end = time.monotonic() + 10
        while processes(str(book.root)) and time.monotonic() < end:
            time.sleep(0.05)
        assert [] == processes(str(book.root))
        assert 1 == book.agrees().code  # the recorded output is that of another number
        book.replace("docs/decay.md", f"left({11 + number}):", "left(10):")
        assert 0 == book.agrees().code
