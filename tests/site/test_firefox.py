"""A second engine reads the book: stock Firefox, over the WebDriver BiDi socket that it opens."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from .conftest import Server, missing

pytestmark = pytest.mark.browser

FIREFOX = ("firefox-esr", "firefox")
# No requests of the browser's own.
SETTINGS = """\
user_pref("app.normandy.enabled", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("services.settings.server", "data:,");
"""
SOCKET = re.compile(r"WebDriver BiDi listening on (ws://\S+)")


class Firefox:
    """One window of a running Firefox, and what its pages wrote to the console."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.ask("session.new", capabilities={})
        self.ask("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        (window,) = self.ask("browsingContext.getTree")["contexts"]
        self.window = window["context"]

    def ask(self, method: str, **params: Any) -> Any:
        """Send a command and return its result; events that come first are kept."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv(timeout=60))
            if message.get("id") == number:
                assert message["type"] == "success", message
                return message["result"]
            self._keep(message)

    def _keep(self, event: Any) -> None:
        params = event.get("params", {})
        if event.get("method") == "log.entryAdded" and params["level"] in {"error", "warn"}:
            self.complaints.append(params["text"])
        elif event.get("method") == "network.beforeRequestSent":
            self.asked.append(params["request"]["url"])

    def visit(self, url: str, width: int = 1280) -> None:
        size = {"width": width, "height": 800}
        self.ask("browsingContext.setViewport", context=self.window, viewport=size)
        # What the page before says of its unfinished business is not said of this one.
        for address in ("about:blank", url):
            self.complaints.clear()
            self.asked.clear()
            self.ask("browsingContext.navigate", context=self.window, url=address, wait="complete")
        assert url == self.run("location.href")

    def run(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page, waiting for a promise."""
        answer = self.ask(
            "script.evaluate",
            expression=f"Promise.resolve({expression}).then(JSON.stringify)",
            target={"context": self.window},
            awaitPromise=True,
        )
        assert answer["type"] == "success", answer
        return json.loads(answer["result"]["value"])


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    """A headless Firefox of this machine, with a profile of its own."""
    executable = next(filter(None, map(shutil.which, FIREFOX)), None)
    if executable is None:
        missing("Firefox", "firefox-esr")
    profile = tmp_path_factory.mktemp("firefox")
    (profile / "user.js").write_text(SETTINGS)
    command = [str(executable), "--headless", "--no-remote", "--remote-debugging-port=0"]
    process = subprocess.Popen(
        [*command, "--profile", str(profile)], stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr
        address = next(filter(None, map(SOCKET.search, process.stderr)))[1]
        with connect(f"{address}/session", max_size=None) as socket:
            yield Firefox(socket)
    finally:
        process.kill()
        process.wait()


PAGES = [
    "",
    "chapters/gradients-measured/",
    "chapters/reading-with-weights/",
    "ledger/",
    "404.html",
]


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("width", [1280, 390])
def test_a_page_is_whole_in_firefox(
    firefox: Firefox, server: Server, path: str, width: int
) -> None:
    firefox.visit(server.url + path, width)
    assert firefox.run("document.querySelector('h1').textContent.trim().length > 0")
    assert not firefox.run("document.documentElement.scrollWidth > innerWidth")
    assert [] == firefox.complaints
    assert firefox.asked
    assert [] == [
        url for url in firefox.asked if not url.startswith((server.url, "data:", "blob:"))
    ]


def test_firefox_draws_mathematics_in_the_font_of_the_book(
    firefox: Firefox, server: Server, built_site: Path
) -> None:
    path = "chapters/reading-with-weights/"
    firefox.visit(server.url + path)
    drawn = firefox.run(
        "document.fonts.ready.then(() => [...document.querySelectorAll('math')]"
        ".filter(m => m.getBoundingClientRect().height > 8).length)"
    )
    assert (built_site / path / "index.html").read_text("utf-8").count("<math") == drawn
    family = firefox.run(
        "getComputedStyle(document.querySelector('math')).fontFamily.split(',')[0]"
    )
    assert firefox.run(f"document.fonts.check('16px ' + {json.dumps(family)})")


def test_firefox_finds_words(firefox: Firefox, server: Server) -> None:
    firefox.visit(server.url)
    # Without a screen no window is in front, and the box for words does not learn of its focus.
    firefox.run("document.getElementById('__search').click() ?? true")
    firefox.run("document.querySelector('.md-search__input').focus() ?? true")
    keys = [{"type": kind, "value": key} for key in "cliff" for kind in ("keyDown", "keyUp")]
    actions = [{"type": "key", "id": "keyboard", "actions": keys}]
    firefox.ask("input.performActions", context=firefox.window, actions=actions)
    found = firefox.run(
        """new Promise(resolve => {
          const look = setInterval(() => {
            const first = document.querySelector(".md-search-result__link");
            if (first) { clearInterval(look); resolve(first.href); }
          }, 100);
          setTimeout(() => resolve("nothing found"), 20000);
        })"""
    )
    assert f"{server.url}chapters/the-translation-cliff/" in found


def test_firefox_moves_a_figure_by_keyboard(firefox: Firefox, server: Server) -> None:
    firefox.visit(f"{server.url}chapters/powers-near-one/")
    slider = "document.querySelector('[data-widget=multiplier] input[type=range]')"
    awake = f"""new Promise(resolve => {{
      const look = setInterval(() => {{
        if ({slider}) {{ clearInterval(look); resolve(true); }}
      }}, 50);
      setTimeout(() => resolve(false), 10000);
    }})"""
    assert firefox.run(awake)
    before = firefox.run(f"({slider}.focus(), {slider}.value)")
    press = [{"type": kind, "value": "\ue014"} for kind in ("keyDown", "keyUp")]
    actions = [{"type": "key", "id": "keyboard", "actions": press}]
    firefox.ask("input.performActions", context=firefox.window, actions=actions)
    assert before != firefox.run(f"{slider}.value")
