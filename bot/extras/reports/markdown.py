"""A report as Markdown for a post-incident document; text from the incident is never markup.

Source: https://spec.commonmark.org/0.31.2/#backslash-escapes, and for tables and task lists
https://github.github.com/gfm/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bot.chat.document import Line, Lines
from bot.domain.safe_text import one_line, safe
from bot.extras.reports.parts import Grid, Point, Points, Report, ReportPart, Section
from bot.seats import Picture
from bot.view.words import Instant, Styled, plain

# What can begin markup anywhere in a line, and what only at its start. A colon makes a link only before a slash, and an
# underscore within a word makes nothing: those are not escaped, so that the raw document stays readable.
_SIGNS = re.compile(r"([\\`*{}\[\]<|&~$#]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=/)|(?<=www)\.)", re.IGNORECASE)
_START = re.compile(r"\A(?:(\d{1,9})([.)])(?=\s|\Z)|()([-+](?=\s|\Z|-)|[=>]))")
_JOINER = "\u2060"  # invisible, after @: no site takes what follows for a person's name


def markdown(report: Report) -> str:
    """Return the document."""
    blocks = [f"# {inert(report.headline)}", inert(report.about)]
    for section in report.sections:
        blocks += _section(section)
    return "\n\n".join(blocks) + "\n"


def inert(text: str) -> str:
    """Return text that Markdown shows literally, on one line.

    Example:
    >>> print(inert("1. <b> [x](javascript:1) mem_cgroup_x https://a"))
    1\\. \\<b> \\[x\\](javascript:1) mem_cgroup_x https\\://a
    """
    signed = _SIGNS.sub(r"\\\1", one_line(text, 10_000))
    return _START.sub(r"\1\3\\\2\4", signed).replace("@", f"@{_JOINER}")


def _section(section: Section) -> Iterator[str]:
    yield f"## {inert(section.title)}"
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
                tuple(map(inert, heads)),
                tuple("---" for _ in heads),
                *(tuple(map(_sentence_text, row)) for row in rows),
            ]
            yield "\n".join(f"| {' | '.join(cells)} |" for cells in table)
        case Lines(lines=lines):
            yield _fenced(lines, "")
        case Picture(alt=alt):
            yield inert(f"Picture: {alt}")


def _point(point: Point, mark: str) -> str:
    about = f"**{inert(point.about)}**" if point.about.strip() else ""
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
    return f"{lead}{inert(words)}{trail}"
