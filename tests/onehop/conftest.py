"""Every test of the book's package starts, and leaves, in the clean state."""

from collections.abc import Iterator

import pytest

from onehop.determinism import clean_state


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    clean_state()
    yield
    clean_state()
