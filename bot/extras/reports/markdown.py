"""A report as Markdown for a post-incident document, with tables and task lists: https://github.github.com/gfm/"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bot.chat.document import Line, Lines
from bot.domain.safe_text import safe
from bot.extras.reports.parts import Grid, Point, Points, Report, ReportPart, Section
from bot.seats import Picture
from bot.surfaces.markdown_text import escape_markdown
from bot.view.words import Instant, Styled, plain


def markdown(report: Report) -> str:
    """Return the document."""
    blocks = [f"# {escape_markdown(report.headline)}", escape_markdown(report.about)]
    for section in report.sections:
        blocks += _section(section)
    return "\n\n".join(blocks) + "\n"


def _section(section: Section) -> Iterator[str]:
    yield f"## {escape_markdown(section.title)}"
    for part in section.parts:
        yield from _part_text(part)


def _part_text(part: ReportPart) -> Iterator[str]:
    match part:
        case Line(pieces=words):
            yield _sentence_text(words)
        case Points(points=points, to_do=to_do):
            yield "\n".join(_point(point, "- [ ] " if to_do else "- ") for point in points)
        case Grid(heads=heads, rows=rows):
            table = [
                tuple(map(escape_markdown, heads)),
                tuple("---" for _ in heads),
                *(tuple(map(_sentence_text, row)) for row in rows),
            ]
            yield "\n".join(f"| {' | '.join(cells)} |" for cells in table)
        case Lines(lines=lines):
            yield _fenced(lines, "")
        case Picture(alt=alt):
            yield escape_markdown(f"Picture: {alt}")


def _point(point: Point, mark: str) -> str:
    about = f"**{escape_markdown(point.about)}**" if point.about.strip() else ""
    said = ": ".join(filter(None, (about, _sentence_text(point.words))))
    lines = "\n\n" + _fenced(point.lines, "  ") + "\n" if point.lines else ""
    return f"{mark}{said}{lines}"


def _fenced(lines: tuple[str, ...], indent: str) -> str:
    """Lines as they are, in a code fence that none of them can close."""
    text = [line for each in lines for line in safe(each).split("\n")]
    longest = max((len(run) for line in text for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join(f"{indent}{line}" for line in (f"{fence}text", *text, fence))


def _sentence_text(sentence: Sequence[Styled]) -> str:
    return " ".join("".join(map(_piece_text, sentence)).split(" "))


def _piece_text(piece: Styled) -> str:
    if isinstance(piece, Instant):
        return f"{piece.at:%Y-%m-%d %H:%M:%S} UTC"
    words = plain((piece,))
    lead, trail = (" " if words[:1] == " " else ""), (" " if words[1:][-1:] == " " else "")
    return f"{lead}{escape_markdown(words)}{trail}"
