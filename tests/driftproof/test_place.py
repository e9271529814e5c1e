"""The folder in which a page works: lent to the next page only if it was left as it had been."""

import os
import shutil
from pathlib import Path

import pytest

from driftproof.place import lent

NAMES = ("docs", "deep/src", "missing")


@pytest.fixture
def project(tmp_path):
    for name in NAMES[:2]:
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def used_by(project, page):
    """Let a page use a folder; return it."""
    with lent(str(project), NAMES) as folder:
        page(Path(folder))
    return folder


def leave_it(folder):
    """Read, and write nothing."""
    assert ["page", "temporary"] == sorted(os.listdir(folder))
    assert ["deep", "docs"] == sorted(os.listdir(folder / "page"))
    assert (folder / "page/deep/src").is_dir()
    assert [] == os.listdir(folder / "temporary")


def write_for_a_moment(folder):
    (folder / "temporary/file").write_text("something")
    (folder / "temporary/file").unlink()


def write_in_the_working_folder(folder):
    (folder / "page/file").write_text("something")


def write_beside_a_link(folder):
    (folder / "page/deep/file").write_text("something")


def write_beside_the_working_folder(folder):
    (folder / "other").mkdir()


def lead_a_link_elsewhere(folder):
    (folder / "page/docs").unlink()
    (folder / "page/docs").symlink_to("/")


def change_a_mode(folder):
    (folder / "temporary").chmod(0o500)


def replace_a_folder(folder):
    (folder / "temporary").rmdir()
    (folder / "temporary").mkdir()


def remove_everything(folder):
    shutil.rmtree(folder)


def test_a_folder_that_was_left_as_it_was_serves_again(project):
    assert used_by(project, leave_it) == used_by(project, leave_it)


@pytest.mark.parametrize(
    "page",
    [
        write_for_a_moment,
        write_in_the_working_folder,
        write_beside_a_link,
        write_beside_the_working_folder,
        lead_a_link_elsewhere,
        change_a_mode,
        replace_a_folder,
        remove_everything,
    ],
)
def test_no_page_finds_what_another_did(project, page):
    folder = used_by(project, page)
    assert not os.path.exists(folder)
    used_by(project, leave_it)


def test_pages_that_run_together_share_no_folder(project):
    with lent(str(project), NAMES) as one, lent(str(project), NAMES) as other:
        assert one != other


def test_a_folder_that_someone_removed_meanwhile_is_not_lent(project):
    shutil.rmtree(used_by(project, leave_it))
    used_by(project, leave_it)


def test_a_new_folder_of_the_project_is_there(project):
    used_by(project, leave_it)
    (project / "missing").mkdir()
    with lent(str(project), NAMES) as folder:
        assert Path(folder, "page/missing").is_dir()


def test_folders_of_another_project_do_not_pile_up(project, tmp_path):
    folder = used_by(project, leave_it)
    with lent(str(tmp_path / "other"), NAMES):
        assert not os.path.exists(folder)
