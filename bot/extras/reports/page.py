"""A report as a self-contained HTML page: no network, no other file, and no script but its own.

The policy in its head forbids everything by default and names the style and the script by their hashes.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.chat.document import Line, Lines
from bot.domain.content_security_policy import page_policy
from bot.domain.safe_text import safe
from bot.extras.reports.parts import Grid, Point, Points, Report, ReportPart, Section
from bot.seats import Picture
from bot.view.words import Instant, Person, Sentence, Styled, plain

_FOLDER = Path(__file__).parent
_LATER = " — "


def page(report: Report) -> str:
    """Return the page."""
    style, script = ((_FOLDER / name).read_text(encoding="utf-8") for name in ("page.css", "zone.js"))
    policy = page_policy([style], [script], "img-src data:")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", report.headline),
        element("style", Html(style)),
    )
    contents = element(
        "nav", *(together(element("a", each.title, href=f"#{_anchor_name(each)}"), " ") for each in report.sections)
    )
    body = element(
        "body",
        element(
            "header",
            element("h1", report.headline),
            element("p", report.about, class_="about"),
            element("p", "Times are UTC.", id="zone"),
            contents,
        ),
        element("main", *(_section(each) for each in report.sections)),
        element("script", Html(script)),
    )
    return "<!doctype html>\n" + element("html", head, body, lang="en").markup + "\n"


def _anchor_name(section: Section) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in section.title.lower())


def _section(section: Section) -> Html:
    heading, parts = element("h2", section.title), map(_part_html, section.parts)
    inside = [element("details", element("summary", heading), *parts)] if section.folded else [heading, *parts]
    return element("section", *inside, id=_anchor_name(section))


def _part_html(part: ReportPart) -> Html:
    match part:
        case Line(pieces=words):
            return element("p", *_sentence_html(words))
        case Points(points=points, to_do=to_do):
            return element("ul", *map(_point, points), **({"class_": "to-do"} if to_do else {}))
        case Grid(heads=heads, rows=rows):
            return _grid_html(heads, rows)
        case Lines(lines=lines):
            return element("pre", "\n".join(lines))
        case Picture(png=png, alt=alt):
            data = f"data:image/png;base64,{base64.b64encode(png).decode()}"
            return element("figure", element("img", src=data, alt=alt), element("figcaption", alt))


def _point(point: Point) -> Html:
    about = [element("strong", point.about)] if point.about else []
    between = [_LATER] if point.about and point.words else []
    lines = [element("pre", "\n".join(point.lines))] if point.lines else []
    return element("li", *about, *between, *_sentence_html(point.words), *lines)


def _grid_html(heads: tuple[str, ...], rows: tuple[tuple[Sentence, ...], ...]) -> Html:
    titled = (
        [element("thead", element("tr", *(element("th", head, scope="col") for head in heads)))] if any(heads) else []
    )
    body = (element("tr", *map(_cell_html, heads, row)) for row in rows)
    return element("div", element("table", *titled, element("tbody", *body)), class_="wide")


def _cell_html(head: str, words: Sentence) -> Html:
    """A cell that names its column: a phone shows each row as lines."""
    return element("td", *_sentence_html(words), **({"data_head": head} if head else {}))


def _sentence_html(sentence: Sequence[Styled]) -> Iterator[Html | str]:
    return map(_piece_html, sentence)


def _piece_html(piece: Styled) -> Html | str:
    match piece:
        case Person(by=by):
            return element("b", by)
        case Instant(at=at):
            # With seconds, although a card shows minutes: a report is read beside logs.
            return element("time", f"{at:%Y-%m-%d %H:%M:%S} UTC", datetime=f"{at:%Y-%m-%dT%H:%M:%S}Z")
    return plain((piece,))


# --- HTML, made of elements: all text is escaped here, so that no text can ever become markup
#
# Source: https://html.spec.whatwg.org/multipage/syntax.html


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
