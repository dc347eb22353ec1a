"""Large texts in a page: compressed, and unpacked by the browser."""

from __future__ import annotations

import gzip
from base64 import b64encode

from pellucid.surfaces.page.markup import Markup, tag


def packed(name: str, text: str) -> Markup:
    """An element that carries a text, to be read by `report.unpack(name)`. Its content is base64, so that nothing in
    the text can end the element; the same text gives the same element."""
    content = b64encode(gzip.compress(text.encode(), compresslevel=9, mtime=0)).decode()
    return tag("script", Markup(content), type="application/gzip", id=name)
