"""Says at the end of each page who keeps the book."""

KEEPER = "the keeper"


def on_page_content(html, **_):
    return f"{html}\n<p>Kept by {KEEPER}.</p>"
