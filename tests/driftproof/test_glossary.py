"""Claims about terms: each is linked where a page first uses it, and nowhere else."""

from __future__ import annotations

import re

import markdown
import pytest

from driftproof.glossary import Term, read_terms

GLOSSARY = """\
# Glossary { #glossary }

Lag { #lag }
:   How many steps back, counted from the *last* one.
    The last has lag zero.

State space model { #state-space-model }
:   A layer, see [there](there.md).

State { #state }
:   What is handed on.

Gated unit (GLU, SwiGLU) { #glu }
:   Half of it gates the other.

Entropy { #entropy }
:   Bits.

Value
:   An everyday word, and so without an id.
"""
EXTENSIONS = [
    "admonition",
    "attr_list",
    "def_list",
    "tables",
    "pymdownx.superfences",
    "driftproof",
    "driftproof.glossary",
]


@pytest.fixture(autouse=True)
def _in_the_project(project, monkeypatch):
    monkeypatch.chdir(project.root)
    project.write("docs/glossary.md", GLOSSARY)


def html(project, text: str, path: str = "docs/chapters/page.md") -> str:
    project.write(path, text)
    settings = {"driftproof.glossary": {"skip": ["docs/made/"]}}
    return markdown.markdown(text, extensions=EXTENSIONS, extension_configs=settings)


def linked(project, text: str) -> list[tuple[str, str]]:
    """Anchor and words of each link to the glossary."""
    link = r'<a [^>]*class="driftproof-term"[^>]*href="\.\./glossary\.md#([^"]+)"[^>]*>([^<]*)</a>'
    return re.findall(link, html(project, text))


def test_a_term_has_an_id_its_names_and_the_first_sentence_of_its_meaning():
    terms = {term.id: term for term in read_terms(GLOSSARY)}
    assert Term("lag", ("Lag",), "How many steps back, counted from the last one.") == terms["lag"]
    assert ("Gated unit", "GLU", "SwiGLU") == terms["glu"].names
    assert "A layer, see there." == terms["state-space-model"].meaning
    assert {"lag", "state-space-model", "state", "glu", "entropy"} == terms.keys()


def test_only_the_first_use_on_a_page_is_linked(project):
    assert [("lag", "lag")] == linked(project, "A lag is *a lag*.\n\nAnother lag, and lags.\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Lags begin a sentence.", [("lag", "Lags")]),
        ("Entropies differ.", [("entropy", "Entropies")]),
        (
            "A state space model has a state.",
            [("state-space-model", "state space model"), ("state", "state")],
        ),
        ("SwiGLU before GLU.", [("glu", "SwiGLU")]),
        ("A glu is no GLU.", [("glu", "GLU")]),
        ("Jet-lag, flag, lag-like, lagging.", []),
        ("A value.", []),
        ("Bold **lag** and *state*.", [("lag", "lag"), ("state", "state")]),
        ("- one lag\n- one state\n", [("lag", "lag"), ("state", "state")]),
    ],
)
def test_a_name_is_known_in_the_plural_and_as_a_whole_word(project, text, expected):
    assert expected == linked(project, text)


@pytest.mark.parametrize(
    "text",
    [
        "# A lag { #a-lag }\n",
        "`lag`\n",
        "[the lag](page.md)\n",
        '```text title="x"\nlag\n```\n',
        '!!! note "The lag"\n\n    Text.\n',
        "| lag |\n| --- |\n| 1 |\n",
    ],
    ids=["heading", "code", "link", "fence", "title", "head of a table"],
)
def test_headings_code_and_links_stay_as_they_are(project, text):
    assert [("lag", "lag")] == linked(project, text + "\nA lag.\n")
    assert [] == linked(project, text)


def test_a_reader_who_cannot_see_the_note_is_told_the_meaning(project):
    page = html(project, "A lag.\n")
    assert 'aria-description="How many steps back, counted from the last one."' in page


def test_the_glossary_does_not_lead_to_itself(project):
    assert "driftproof-term" not in html(project, GLOSSARY, "docs/glossary.md")


def test_a_folder_that_is_left_alone_has_no_links(project):
    assert "driftproof-term" not in html(project, "A lag.\n", "docs/made/page.md")
