r"""Make the book's one font from STIX Two: text, bold, italic and mathematics in a single file.

STIX Two Math holds the upright text face, and among its mathematical alphabets a bold and an
italic with the shapes of the text faces. Two features put those in the place of plain letters:
ss20 the bold ones, with the marks of STIX Two Text Bold between them, ss19 the italic ones, which
it also spaces as STIX Two Text Italic does. One file of 29 kB then does the work of three that
weigh 67.

    npm pack @fontsource/stix-two-math@5.3.0 @fontsource/stix-two-text@5.3.0
    python snippets/font.py stix-two-math-latin-400-normal.woff2 \
        stix-two-text-latin-400-italic.woff2 stix-two-text-latin-700-normal.woff2
"""

from __future__ import annotations

import sys
from pathlib import Path
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import Any

from fontTools import subset
from fontTools.feaLib.builder import addOpenTypeFeaturesFromString
from fontTools.pens.recordingPen import DecomposingRecordingPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont

TARGET = Path(__file__).parents[1] / "docs/assets/fonts/stix-two.woff2"
LETTERS = ascii_uppercase + ascii_lowercase
ITALIC = {letter: 0x1D434 + i for i, letter in enumerate(LETTERS)} | {"h": 0x210E}
BOLD = {letter: 0x1D400 + i for i, letter in enumerate(LETTERS)}
BOLD |= {digit: 0x1D7CE + i for i, digit in enumerate(digits)}
BOLD_MARKS = "!\"%&'()*+,-./:;=?[]–—‘’“”×−"
SIZES = 4  # of a bracket; a larger one is put together from its parts

# Where a page needs more, a test of the built site says so.
TEXT = """\
20-7E,A0,A7,A9,B0-B3,B5,B7,B9,C4,C5,C7,C9,D6-D8,DC,DF-EF,F1-F6,F8-FD,FF,10D,141,142,160,
161,2009,2013,2014,2018,2019,201C,201D,2026,2032,2070,2074-2079,207B,207F,
2190-2193,2212,2248,2260,2264,2265"""
MATHEMATICS = """\
2C6,302,394,398,39B,3A3,3A6,3A9,3B1,3B2,3B4,3B8,3BB,3C0,3C1,3C3,3C4,3C6,
3C7,2016,2061,211D,2112,2113,21A6,21D2,2202,2208,220F,2211,221A,221E,222B,
2299,22A4,22C5,22EF,2308,2309,1D434-1D454,1D456-1D467,210E,1D6FC,1D6FD,1D6FF,
1D703,1D706,1D70B,1D70C,1D70E,1D70F,1D711,1D712,1D719,1D400-1D433,1D7CE-1D7D7"""


def add_marks(font: Any, bold: Any) -> dict[str, str]:
    """Copy the bold marks into the font; return the glyph of each."""
    theirs, glyphs, added = bold.getBestCmap(), bold.getGlyphSet(), {}
    for mark in BOLD_MARKS:
        name = theirs[ord(mark)]
        outline, pen = DecomposingRecordingPen(glyphs), TTGlyphPen(None)
        glyphs[name].draw(outline)
        outline.replay(pen)
        added[mark] = f"{name}.bold"
        font["glyf"][added[mark]] = pen.glyph()
        font["hmtx"][added[mark]] = bold["hmtx"][name]
    font.setGlyphOrder(font["glyf"].glyphOrder)
    return added


def thin_out(font: Any) -> None:
    """Drop sizes of brackets, what stretches sideways, and kerning that Chromium does not apply."""
    mathematics = font["MATH"].table
    mathematics.MathGlyphInfo.MathKernInfo = None
    variants = mathematics.MathVariants
    for construction in variants.VertGlyphConstruction:
        sizes = construction.MathGlyphVariantRecord
        if len(sizes) > SIZES:
            construction.MathGlyphVariantRecord = sizes[: 2 * SIZES : 2]
            construction.VariantCount = SIZES
    for construction in variants.HorizGlyphConstruction:
        construction.GlyphAssembly = None


def features(font: Any, italic: Any, marks: dict[str, str]) -> str:
    """Return the two features in the language of OpenType feature files."""
    glyphs, italic_glyphs = font.getBestCmap(), italic.getBestCmap()

    def substitutions(alphabet: dict[str, int]) -> list[str]:
        return [f"sub {glyphs[ord(c)]} by {glyphs[code]};" for c, code in alphabet.items()]

    bold_marks = [f"sub {glyphs[ord(mark)]} by {theirs};" for mark, theirs in marks.items()]
    spacing = []
    for letter in ascii_letters:
        ours, theirs = glyphs[ITALIC[letter]], italic_glyphs[ord(letter)]
        shift = italic["glyf"][theirs].xMin - font["glyf"][ours].xMin
        wider = italic["hmtx"][theirs][0] - font["hmtx"][ours][0]
        spacing.append(f"pos {ours} <{shift} 0 {wider} 0>;")
    return "\n".join(
        [
            "languagesystem DFLT dflt; languagesystem latn dflt;",
            "feature ss19 {", *substitutions(ITALIC), *spacing, "} ss19;",
            "feature ss20 {", *substitutions(BOLD), *bold_marks, "} ss20;",
        ]
    )  # fmt: skip


def add_positions(kerning: Any, spacing: Any) -> None:
    """Add the lookups and the one feature of `spacing` to `kerning`, both tables of positions."""
    first = len(kerning.LookupList.Lookup)
    kerning.LookupList.Lookup += spacing.LookupList.Lookup
    record = spacing.FeatureList.FeatureRecord[0]
    record.Feature.LookupListIndex = [i + first for i in record.Feature.LookupListIndex]
    kerning.FeatureList.FeatureRecord.append(record)
    for script in kerning.ScriptList.ScriptRecord:
        languages = [record.LangSys for record in script.Script.LangSysRecord]
        for language in filter(None, [script.Script.DefaultLangSys, *languages]):
            language.FeatureIndex.append(len(kerning.FeatureList.FeatureRecord) - 1)


def make(mathematics: str, italic: str, bold: str) -> None:
    """Write the font from the files of STIX Two Math, and of STIX Two Text Italic and Bold."""
    font: Any = TTFont(mathematics, recalcTimestamp=False)  # the same bytes whenever it is made
    kerning = font["GPOS"]
    del font["GSUB"]
    thin_out(font)
    code = features(font, TTFont(italic), add_marks(font, TTFont(bold)))
    addOpenTypeFeaturesFromString(font, code, tables=["GSUB", "GPOS"])
    add_positions(kerning.table, font["GPOS"].table)
    font["GPOS"] = kerning
    options = subset.Options(
        hinting=False,
        layout_features=["kern", "ss19", "ss20"],
        name_IDs=[0, 1, 2, 13, 14],
        drop_tables=[*subset.Options().drop_tables, "fpgm", "prep", "cvt ", "gasp"],
    )
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=subset.parse_unicodes(f"{TEXT},{MATHEMATICS}"))
    subsetter.subset(font)
    font.flavor = "woff2"
    font.save(TARGET)


if __name__ == "__main__":
    make(*sys.argv[1:])
