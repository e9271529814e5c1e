"""What a contributor and GitHub read: short guides, sound forms, workflows with few rights."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from driftproof.config import load

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").iterdir())
TOOLS = Path(sys.executable).parent
READS = {"contents": "read"}
USES = re.compile(r"^\s*(?:- )?uses: (\S+)(.*)$", re.MULTILINE)


def workflow(path: Path) -> dict[Any, Any]:
    return yaml.safe_load(path.read_text("utf-8"))


def events(path: Path) -> set[str]:
    content = workflow(path)
    return set(content[True])  # YAML takes the key `on` for a truth value


def jobs() -> list:
    return [
        pytest.param(path, job, id=f"{path.stem}: {name}")
        for path in WORKFLOWS
        for name, job in workflow(path)["jobs"].items()
    ]


def run(*command: str) -> None:
    done = subprocess.run(
        [str(TOOLS / command[0]), *command[1:]], cwd=ROOT, capture_output=True, text=True
    )
    assert 0 == done.returncode, done.stdout + done.stderr


def test_contributing_is_shorter_than_250_words():
    assert len((ROOT / "CONTRIBUTING.md").read_text("utf-8").split()) < 250


def test_the_pull_request_template_has_at_most_six_boxes():
    text = (GITHUB / "PULL_REQUEST_TEMPLATE.md").read_text("utf-8")
    assert 1 <= len(re.findall(r"^- \[ \] ", text, re.MULTILINE)) <= 6


def test_there_is_a_form_for_a_number_a_passage_and_a_chapter():
    forms = {path.stem for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml")} - {"config"}
    assert {"wrong-number", "unclear-passage", "new-chapter"} == forms


def test_every_owned_path_exists():
    for line in (GITHUB / "CODEOWNERS").read_text("utf-8").splitlines():
        if line.startswith("/"):
            assert (ROOT / line.split()[0].lstrip("/")).exists(), line


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("vendor.github-workflows", "workflows/*.yml"),
        ("custom.github-workflows-require-timeout", "workflows/*.yml"),
        ("vendor.dependabot", "dependabot.yml"),
        ("vendor.github-issue-forms", "ISSUE_TEMPLATE/[!c]*.yml"),
        ("vendor.github-issue-config", "ISSUE_TEMPLATE/config.yml"),
    ],
)
def test_what_github_reads_has_the_form_that_it_reads(schema, files):
    found = [str(path) for path in GITHUB.glob(files)]
    assert found
    run("check-jsonschema", "--builtin-schema", schema, *found)


def test_zizmor_finds_nothing():
    run("zizmor", "--offline", "--no-ignores", ".github")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_begins_without_rights_and_stops_its_own_double(path):
    assert {} == workflow(path)["permissions"]
    assert "group" in workflow(path)["concurrency"]
    assert not events(path) & {"pull_request_target", "workflow_run", "issue_comment"}


@pytest.mark.parametrize(("path", "job"), jobs())
def test_a_job_has_a_timeout_and_only_the_rights_that_it_uses(path, job):
    assert 0 < job["timeout-minutes"] <= 60
    publishes = path.stem == "site" and "environment" in job
    expected = {"pages": "write", "id-token": "write"} if publishes else READS
    assert expected == job["permissions"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit_and_leave_no_token_behind(path):
    text = path.read_text("utf-8")
    for action, comment in USES.findall(text):
        assert re.fullmatch(r"actions/[\w/-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), action
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")
    assert "secrets." not in text


@pytest.mark.parametrize(("path", "job"), jobs())
def test_no_run_and_no_tool_comes_with_a_checkout(path, job):
    assert ".driftproof" == load(ROOT).cache
    steps = job["steps"]
    for before, after in itertools.pairwise(steps):
        if before.get("uses", "").startswith("actions/checkout@"):
            assert 'test -z "$(git ls-files .driftproof .venv site)"' == after["run"]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a copy without its history")
def test_nothing_is_committed_that_the_commands_write():
    command = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "" == done.stdout


@pytest.mark.parametrize("folder", ["docs", "snippets", "src", "tests", ".github", ".ci"])
def test_no_file_is_a_link_to_another(folder):
    assert [] == [path for path in (ROOT / folder).rglob("*") if path.is_symlink()]


def test_one_action_has_one_commit_in_all_workflows():
    found = {}
    for path in WORKFLOWS:
        for action, comment in USES.findall(path.read_text("utf-8")):
            name, _, commit = action.partition("@")
            found.setdefault("/".join(name.split("/")[:2]), set()).add((commit, comment))
    assert [] == [name for name, commits in found.items() if len(commits) > 1]


def test_only_the_check_sees_pull_requests_and_the_site_restores_nothing():
    assert ["check"] == [path.stem for path in WORKFLOWS if "pull_request" in events(path)]
    by_name = {path.stem: path.read_text("utf-8") for path in WORKFLOWS}
    assert "actions/cache" not in by_name["site"]
    assert "self-hosted" not in by_name["check"]
    save = by_name["check"].partition("Keep the runs of main")[2]
    assert save.lstrip().startswith("if: ${{ github.event_name == 'push' }}")
    assert 1 == by_name["check"].count("actions/cache/save@")


def test_no_workflow_hands_pages_to_a_cluster():
    named = [path.stem for path in WORKFLOWS if "scheduler" in path.read_text("utf-8").lower()]
    assert [] == named, "its workers outlive the pull request that they have run"


def test_the_gpu_runs_main_alone_behind_its_environment():
    gpu = next(path for path in WORKFLOWS if path.stem == "gpu")
    assert {"schedule", "workflow_dispatch"} == events(gpu)
    (job,) = workflow(gpu)["jobs"].values()
    assert "gpu" == job["environment"]
    assert "${{ github.ref == 'refs/heads/main' }}" == job["if"]
