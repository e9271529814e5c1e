"""Runs commands as often as it is asked to, each in a process forked from this one.

Reads a line of JSON for each: folder, arguments, the file for what is said. Writes the number of
the process, and when it has ended its exit status, both as lines. What every build imports has been
imported already, so that a build takes as long as it builds.
"""

from __future__ import annotations

import json
import os
import sys
import traceback

import mkdocs.__main__
import mkdocs.commands.build
import mkdocs.commands.serve
import mkdocs.config
from mkdocs.plugins import get_plugins

import driftproof.cli


def serve_once(folder: str) -> None:
    """Build the site as `mkdocs serve` does, and end."""
    config = mkdocs.config.load_config(site_dir=folder)
    config.plugins.on_startup(command="serve", dirty=False)
    config.site_url = "http://127.0.0.1:8000/book/"
    try:
        mkdocs.commands.build.build(config, serve_url=config.site_url)
    finally:
        config.plugins.on_shutdown()


def run(folder: str, arguments: list[str], said: str) -> None:
    """Be the command."""
    os.setsid()
    os.chdir(folder)
    sys.path[0] = folder  # as `python -m` does
    target = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for descriptor in (1, 2):
        os.dup2(target, descriptor)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    program, *rest = arguments
    if program == "serve-once":
        serve_once(*rest)
    elif program == "driftproof":
        sys.exit(driftproof.cli.main(rest))
    else:
        mkdocs.__main__.cli(rest, prog_name="mkdocs")


for plugin in (
    "search",
    "material/search",
    "mkdocstrings",
    "autorefs",
    "markdown-exec",
    "driftproof",
):
    get_plugins()[plugin].load()
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        try:
            run(*json.loads(line))
        except SystemExit as end:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(end.code if isinstance(end.code, int) else int(bool(end.code)))
        except BaseException:
            traceback.print_exc()
            os._exit(70)
        os._exit(0)
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
