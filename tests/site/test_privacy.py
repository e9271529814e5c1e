"""No page asks another host for anything, and none could: its policy forbids it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from .conftest import Server

pytestmark = pytest.mark.browser

POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
TRY = """async kind => {
  const refused = new Promise(resolve => {
    document.addEventListener("securitypolicyviolation", event => resolve(event.blockedURI));
    setTimeout(() => resolve("nothing refused"), 2000);
  });
  const address = "https://elsewhere.example/";
  if (kind === "fetch") fetch(address).catch(() => {});
  else if (kind === "inline") {
    document.body.append(Object.assign(document.createElement("script"), {text: "loose = 1"}));
  } else {
    const name = kind === "link" ? "href" : "src";
    document.body.append(
      Object.assign(document.createElement(kind), {[name]: address, rel: "stylesheet"}));
  }
  return await refused;
}"""


def test_every_page_carries_a_policy_before_anything_that_loads(built_site: Path) -> None:
    for file in built_site.rglob("*.html"):
        html = file.read_text("utf-8")
        policy = POLICY.search(html)
        assert policy, file
        assert not re.search(
            r"<(script|link rel=.(stylesheet|preload)|img)", html[: policy.start()]
        )
        assert policy[1].startswith("default-src 'self'; script-src 'self' 'sha256-"), file
        assert "unsafe-eval" not in policy[1], file
        assert "http" not in policy[1], file


@pytest.mark.parametrize(
    ("kind", "blocked"),
    [
        ("fetch", "https://elsewhere.example"),
        ("img", "https://elsewhere.example"),
        ("script", "https://elsewhere.example"),
        ("link", "https://elsewhere.example"),
        ("iframe", "https://elsewhere.example"),
        ("inline", "inline"),
    ],
)
def test_the_policy_refuses(browser: Any, server: Server, kind: str, blocked: str) -> None:
    page = browser.new_page()
    page.goto(f"{server.url}chapters/the-clock/")
    assert page.evaluate(TRY, kind).startswith(blocked)
    page.close()
