"""Pictures of a title: the card that a shared link shows, and the cover of the book."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from driftproof.publish.book import Book

_PAPER, _INK, _QUIET, _LINE = "#fbfaf7", "#1c1c1c", "#5c5a55", "#b5451f"


def write_cards(book: Book, site: Path) -> Iterator[Path]:
    """Write a card of 1200 × 630 pixels for each page; yield their paths."""
    for entry in book.entries:
        path = site / "assets/cards" / f"{entry.source.removesuffix('.md')}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture(book, entry.title, entry.description, (1200, 630)))
        yield path


def picture(book: Book, title: str, text: str, size: tuple[int, int]) -> bytes:
    """Return a picture with a title and a text as PNG, the same bytes for the same words."""
    width, height = size
    unit = min(size) // 21
    image = Image.new("RGB", size, _PAPER)
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, width, unit // 2), fill=_LINE)
    room = width - 4 * unit
    top = (2 if width > height else 8) * unit
    if title != book.name:
        draw.text((2 * unit, top), book.name, _LINE, _font(book, unit))
        top += 2 * unit
    for font, gap, colour, words in (
        (_font(book, 5 * unit // 2), 3 * unit, _INK, title),
        (_font(book, 6 * unit // 5), 8 * unit // 5, _QUIET, text),
    ):
        for line in _wrapped(words, font, room):
            if top + gap < height - unit:
                draw.text((2 * unit, top), line, colour, font)
                top += gap
        top += unit
    target = io.BytesIO()
    image.quantize(64).save(target, "PNG")
    return target.getvalue()


def _font(book: Book, size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    if book.config.card_font:
        return ImageFont.truetype(str(book.config.root / book.config.card_font), size)
    return ImageFont.load_default(size)


def _wrapped(
    text: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont, room: int
) -> Iterator[str]:
    """Yield a text in lines that are no wider than `room` pixels."""
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and font.getlength(longer) > room:
            yield line
            line = word
        else:
            line = longer
    yield line
