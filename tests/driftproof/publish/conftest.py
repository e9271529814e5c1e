"""A small book that is published: two pages, a figure, a formula, an exception."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from driftproof.publish.book import Book, read_book

MKDOCS = """\
site_name: A Small Book
site_author: An Author
site_description: What is left after ten steps.
site_url: !ENV [SMALL_BOOK_URL, ""]
copyright: "CC BY 4.0"
theme: {name: null, custom_dir: theme}
nav:
  - Home: index.md
  - Chapters:
      - chapters/decay.md
  - Help: help.md
plugins:
  - search
  - markdown-exec: {ansi: "off", languages: [python]}
  - driftproof
markdown_extensions:
  - admonition
  - attr_list
  - footnotes
  - md_in_html
  - tables
  - toc: {permalink: "#"}
  - pymdownx.details
  - pymdownx.highlight
  - pymdownx.superfences:
      custom_fences:
        - name: math
          class: math
          format: !!python/name:driftproof.mathematics.format_fence
          validator: !!python/name:driftproof.mathematics.validate_fence
  - driftproof.mathematics
"""
TEMPLATE = """\
<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{{ page.title }}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'self'; script-src 'self'">
<link rel="preload" href="{{ 'font.woff2' | url }}" as="font" crossorigin></head><body>
<ul><li><a href="{{ 'a-small-book.pdf' | url }}">PDF</a></li>
<li><a href="{{ 'chapters/decay.md' | url }}">Markdown</a></li></ul>
<a href="{{ nav.homepage.url | url }}">Home</a>
<article>{{ page.content }}<footer>at the foot</footer></article></body></html>
"""
HOME = """\
---
description: Where to begin.
---

# A small book

Begin with [decay](chapters/decay.md#what-is-left), or get [help](help.md).
"""
DECAY = """\
---
recorded: Python 3.11.7, numpy 2.4.6, torch 2.13.0+cpu; x86_64, 1 thread; 2026-11-29
title: Decay
description: A half, ten times.
---

# Decay { #decay }

Of $x_0$ there is <data value="left">0.001</data> left.[^paper] See [home](../index.md) & `<data>`.
{ .lead }

## What is left { #what-is-left }

```math
x_t = 2^{-t}
```

```python title="Ten halves" id="halves"
left = 0.5**10
print(f"left {left:.6f}")
```

```output
left 0.000977
```

```python exec="off" reason="needs a cluster"
launch()
```

```python raises="ZeroDivisionError"
print("before")
1 / 0
```

```output
before
ZeroDivisionError: division by zero
```

!!! exercise "Which base?"

    Take a third.

    ??? success "Answer"

        Smaller, as $3 > 2$:

        ```python
        print(f"{(1 / 3) ** 10:.1e}")
        ```

        ```output
        1.7e-05
        ```

```python id="drawn"
from matplotlib.figure import Figure

from driftproof import figure

fig = Figure(figsize=(2, 1))
fig.subplots().plot([0.5**t for t in range(3)])
figure(fig, alt="A line <falls>.", caption="It halves.", data={"step": [0, 1], "left": [1.0, 0.5]})
```

```output show="figure"
step  left
   0     1
   1   0.5
```

[^paper]: A. Author (1999). *A paper*.
"""


@pytest.fixture(scope="session")
def built(new_project) -> Any:
    """The project of the small book, with its site; tests write into it only what is published."""
    project = new_project()
    project.configure(notebooks=["docs/chapters/*.md"], online_only=["docs/help.md"])
    project.write("mkdocs.yml", MKDOCS)
    project.write("theme/main.html", TEMPLATE)
    project.write("docs/index.md", HOME)
    project.write("docs/chapters/decay.md", DECAY)
    project.write("docs/help.md", "# Help\n\nThere is none.\n")
    project.write("src/halves.py", "def half(x):\n    return x / 2\n")
    done = project.command("mkdocs", "build", "--quiet")
    assert 0 == done.returncode, done.stdout
    return project


@pytest.fixture
def small(built, monkeypatch) -> Callable[..., Book]:
    """Read the small book, as published at an address or nowhere."""

    def read(url: str = "") -> Book:
        monkeypatch.setenv("SMALL_BOOK_URL", url)
        return read_book(built.config)

    return read


@pytest.fixture
def site(built) -> Path:
    """The folder into which the small book is built."""
    return built.root / "site"
