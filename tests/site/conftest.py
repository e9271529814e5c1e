"""The built book in a real browser: a built site, a server for it, Chromium, and windows onto it.

Tests that use these carry the mark `browser`; `make test-site` runs them, `make test` leaves them
out. SITE_DIR names a site that is built already; without it the first of them builds one.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mimetypes import guess_type
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM_OPTIONS = [
    "--no-sandbox",  # as root, the sandbox does not start
    "--disable-gpu",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # a request elsewhere must fail
]
COMPRESSED = {".css", ".html", ".js", ".json", ".md", ".svg", ".txt", ".xml"}


class Server(ThreadingHTTPServer):
    """Serves a folder as a host would: compressed text, index.html for a folder, 404.html."""

    daemon_threads = True

    def __init__(self, site: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.site = site
        self.url = f"http://127.0.0.1:{self.server_port}/"
        self.sent: list[tuple[str, int]] = []  # the path and the bytes of each body

    def sitemap(self) -> bytes:
        """The pages at their addresses here; without it the theme loads every page anew."""
        files = [file.relative_to(self.site).as_posix() for file in self.site.rglob("index.html")]
        urls = [
            f"<url><loc>{self.url}{file.removesuffix('index.html')}</loc></url>" for file in files
        ]
        return f"<urlset>{''.join(sorted(urls))}</urlset>".encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        assert isinstance(self.server, Server)
        path = unquote(urlsplit(self.path).path).lstrip("/")
        file = self.server.site / path
        if file.is_dir() and (not path or path.endswith("/")):
            file /= "index.html"
        elif file.is_dir():
            self._send(HTTPStatus.MOVED_PERMANENTLY, b"", {"Location": f"/{path}/"})
            return
        status = HTTPStatus.OK if file.is_file() else HTTPStatus.NOT_FOUND
        if status is HTTPStatus.NOT_FOUND:
            file = self.server.site / "404.html"
        body = self.server.sitemap() if path == "sitemap.xml" else file.read_bytes()
        headers = {"Content-Type": guess_type(file.name)[0] or "application/octet-stream"}
        if file.suffix in COMPRESSED and "gzip" in self.headers.get("Accept-Encoding", ""):
            body = gzip.compress(body, 9, mtime=0)
            headers["Content-Encoding"] = "gzip"
        self._send(status, body, headers)

    def _send(self, status: HTTPStatus, body: bytes, headers: dict[str, str]) -> None:
        assert isinstance(self.server, Server)
        self.server.sent.append((urlsplit(self.path).path, len(body)))
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(ConnectionError):  # the browser may have left the page
            self.wfile.write(body)

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Say nothing: a test reads `sent`."""


def missing(what: str, package: str) -> None:
    """Skip the test, or fail it under continuous integration, for want of a program."""
    message = f"no {what} here; on Debian: apt-get install {package}"
    if os.environ.get("CI"):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


@pytest.fixture(scope="session")
def built_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site."""
    if os.environ.get("SITE_DIR"):
        site = (ROOT / os.environ["SITE_DIR"]).resolve()
        if not (site / "index.html").is_file():
            pytest.fail(f"SITE_DIR={site} holds no index.html: build it first", pytrace=False)
        return site
    site = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-d", str(site)]
    python = next(ROOT.glob(".runtime/*"), None)  # where `make runtime` has fetched it
    names = {**os.environ, "PYTHON_RUNTIME": python.name if python else ""}
    build = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env=names
    )
    if build.returncode:
        pytest.fail(f"the site does not build:\n{build.stderr}", pytrace=False)
    if python:
        shutil.copytree(python, site / "assets" / python.name)
    return site


@pytest.fixture(scope="session")
def paths(built_site: Path) -> list[str]:
    """The addresses of all pages, relative to the site: "", "chapters/the-clock/", "404.html"."""
    files = [file.relative_to(built_site).as_posix() for file in built_site.rglob("*.html")]
    return sorted(file.removesuffix("index.html") for file in files)


@pytest.fixture(scope="session")
def server(built_site: Path) -> Iterator[Server]:
    """The site on a free port of this machine, at `server.url`."""
    with Server(built_site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless Chromium of this machine, as a playwright.sync_api.Browser."""
    executable = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if executable is None:
        missing("Chromium", "chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_OPTIONS)
        yield browser
        browser.close()


Visit = Callable[..., Any]


@pytest.fixture
def visit(browser: Any, server: Server) -> Iterator[Visit]:
    """Open a page of the book in a new window, with nothing in its cache.

    ``visit("chapters/the-clock/", width=390, scheme="dark")`` returns a playwright Page; other
    arguments go to ``browser.new_context``. The test fails in the end if a page that it visited
    wrote a warning or an error to the console, or asked another host for anything.
    """
    contexts: list[Any] = []
    complaints: list[str] = []

    def visit(
        path: str = "", *, width: int = 1280, height: int = 800, scheme: str = "light", **more: Any
    ) -> Any:
        viewport = {"width": width, "height": height}
        context = browser.new_context(
            base_url=server.url, viewport=viewport, color_scheme=scheme, **more
        )
        contexts.append(context)
        watch(context, server.url, complaints)
        page = context.new_page()
        page.goto(path or server.url)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert [] == complaints


def watch(context: Any, home: str, complaints: list[str]) -> None:
    """Write down what the pages of a context complain about, and what they ask other hosts for."""

    def on_request(request: Any) -> None:
        if not request.url.startswith((home, "data:", "blob:")):
            complaints.append(f"{request.frame.url} asked for {request.url}")

    def on_console(message: Any) -> None:
        if message.type in {"error", "warning"}:
            complaints.append(f"{message.location.get('url')}: {message.text}")

    context.on("request", on_request)
    context.on("console", on_console)
    context.on("weberror", lambda error: complaints.append(f"{error.page.url}: {error.error}"))
