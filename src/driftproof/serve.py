"""While a site is served: tell the browser how its pages are doing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftproof.verification import Verification

SCRIPT = "driftproof-serve.js"
STATUS = "driftproof-status.json"

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def middleware(
    application: Application,
    verification: Verification,
    mount: str,
    pages_by_url: dict[str, str],
) -> Application:
    """Wrap a WSGI application: answer for the status and the script, note which page is viewed."""

    def respond(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = "/" + environ.get("PATH_INFO", "").removeprefix(mount).lstrip("/")
        folder, _, name = path.rpartition("/")
        if name == STATUS:
            page = pages_by_url.get(f"{folder}/", "")
            verification.view(page)
            body = json.dumps(verification.status(page)).encode()
            return _answer(start_response, "application/json", body)
        if name == SCRIPT:
            script = resources.files("driftproof").joinpath("assets/serve.js").read_bytes()
            return _answer(start_response, "text/javascript", script)
        if path in pages_by_url:
            verification.view(pages_by_url[path])
        return application(environ, start_response)

    return respond


def with_script(html: str) -> str:
    """Return a page's HTML with the script that polls its status."""
    tag = f'<script src="{SCRIPT}" data-driftproof-status="{STATUS}"></script>'
    return re.sub(r"(?i)(?=</body>)", lambda _: tag, html, count=1)


def _answer(start_response: Callable[..., Any], kind: str, body: bytes) -> list[bytes]:
    headers = [("Content-Type", kind), ("Content-Length", str(len(body)))]
    start_response("200 OK", [*headers, ("Cache-Control", "no-store")])
    return [body]
