"""HTML, made of elements: all text is escaped here, so that no text can ever become markup.

Source: https://html.spec.whatwg.org/multipage/syntax.html
"""

from __future__ import annotations

import html
from dataclasses import dataclass

from bot.domain.safe_text import safe

VOID = frozenset({"img", "meta"})  # elements that hold nothing and have no end


@dataclass(frozen=True, slots=True)
class Html:
    """Markup made by `element`, or written in the program itself."""

    markup: str


def element(name: str, /, *inside: Html | str, **attributes: str) -> Html:
    """Return an element; every text and every attribute value is escaped.

    Shape: `class_` stands for the attribute `class`, `http_equiv` for `http-equiv`.

    Example:
    >>> element("p", "<b>", class_='"x"').markup
    '<p class="&quot;x&quot;">&lt;b&gt;</p>'
    """
    named = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    start = "".join([f"<{name}", *(f' {key}="{_escaped(value)}"' for key, value in named), ">"])
    if name in VOID:
        return Html(start)
    return Html(f"{start}{together(*inside).markup}</{name}>")


def together(*parts: Html | str) -> Html:
    """Return elements and texts in turn."""
    return Html("".join(part.markup if isinstance(part, Html) else _escaped(part) for part in parts))


def _escaped(text: str) -> str:
    return html.escape(safe(text), quote=True)
