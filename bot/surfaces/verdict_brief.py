"""What a check prints: the card of a node in ten lines, and of several nodes as a table. Pure functions.

It draws the document that chats draw, without its buttons, pictures, and the signs before its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.chat.card import WOULD_HELP, incident_card, node_table
from bot.chat.document import Block, BlockGroup, IfRoom, Line, Listing, Paragraph, SmallPrint, clipped
from bot.domain.verdict import Confidence, Verdict
from bot.surfaces.verdict_text import coloured, headline, summary, table_lines, wrapped
from bot.view.plan_words import BY_NAME, PlanWords
from bot.view.view import verdicts_view
from bot.view.words import plain, rights_hint

MOST = 10  # lines of a node
FEW = 20  # healthy nodes that are listed
NARROWEST = 8  # columns of the last cell of a row; with less room it is left out
MORE = "--full adds the proof, and what was ruled out or not read"
PROPOSES = "Next: --open makes it a proposal; --full adds the proof and the commands"
_SIGN = re.compile(r"^\W+ ", re.ASCII)  # before a status
_SAID, _SMALL, _PROOF = range(3)  # what has to stand, what follows where there is room, and then the proof


@dataclass(frozen=True, slots=True)
class _Piece:
    rank: int
    lines: Sequence[str]


def verdict_brief(
    verdict: Verdict, width: int = 80, colour: bool = False, words: PlanWords = BY_NAME, proposes: bool = True
) -> str:
    """Return how bad it is, what it is, what would help and what that costs, and what to do next: ten lines at most.

    `proposes`: its plan can still be made a proposal.
    """
    width = max(40, width)
    document = incident_card(verdicts_view([verdict], words))
    has_more = verdict.evidence or verdict.ruled_out or verdict.undecided or verdict.unread
    more = wrapped(PROPOSES if proposes and verdict.plan is not None else MORE, width, "  ") if has_more else []
    hint = rights_hint(verdict.unread)
    pieces = [piece for block in document.blocks[1:] for piece in _pieces(block, width)]
    pieces += [_Piece(_SAID, wrapped(hint, width, "  "))] if hint else []
    return "\n".join((headline(verdict, colour), *_fitted(pieces, width, MOST - 1 - len(more)), *more)) + "\n"


def verdicts_table(
    verdicts: Sequence[Verdict],
    asked: int,
    width: int,
    colour: bool = False,
    words: PlanWords = BY_NAME,
    healthy: int = FEW,
) -> str:
    """Return a row for each node, the worst first, and how many there are of each; `healthy`: list no more of them."""
    group = verdicts_view(verdicts, words)
    statuses = [each.severity for each in group.incidents]
    well = sum(each.is_ordinary for each in group.incidents)  # they come last
    table, listed = node_table(group), len(statuses) - (well if well > healthy else 0)
    said = [_SIGN.sub("", status).upper() for status, *_ in table.rows[:listed]]
    rows = [
        (word, node, cause.removesuffix(f" ({Confidence.CONFIRMED})"), now.removeprefix(WOULD_HELP))
        for word, (_, node, cause, now) in zip(said, table.rows, strict=False)
    ]
    lines = table_lines([[word.upper() for word in table.heading], *rows]) if rows else []
    if lines and width - (at := lines[0].rindex(table.heading[-1].upper())) < NARROWEST:
        lines = [line[:at].rstrip() for line in lines]
    lines = [clipped(line, width) for line in lines]
    for at, (word, status) in enumerate(zip(said, statuses, strict=False) if colour else (), 1):
        lines[at] = coloured(word, status) + lines[at].removeprefix(word)
    more = "; the healthy ones are listed with --full" if listed < len(statuses) else ""
    return "".join(f"{line}\n" for line in (*lines, *([""] if lines else []), summary(verdicts, asked) + more))


def _pieces(block: Block, width: int) -> Iterator[_Piece]:
    """What of a block is shown, each with its rank."""
    match block:
        case BlockGroup(parts=parts):
            for part in parts:
                yield from _pieces(part, width)
        case Line(pieces=pieces):
            yield _Piece(_SAID, wrapped(plain(pieces), width, "  "))
        case Paragraph(words=words):
            yield _Piece(_SAID, wrapped(words, width, "  "))
        case SmallPrint(texts=texts):
            yield _Piece(_SMALL, wrapped(" · ".join(texts), width, "  "))
        case Listing(items=items, title=title) if title:
            yield _Piece(_SAID, wrapped(f"{title} {'; '.join(map(plain, items))}", width, "  "))
        case IfRoom(block=Listing(items=items)):
            yield from (_Piece(_PROOF, wrapped(plain(item), width, "    ", first="  - ")) for item in items)


def _fitted(pieces: Sequence[_Piece], width: int, room: int) -> Iterator[str]:
    """The pieces in their order, in so many lines: of each a line before any has all, and the proof last."""
    taken = [0] * len(pieces)
    for rank, most in ((_SAID, 1), (_SAID, room), (_SMALL, 1), (_PROOF, 1), (_SMALL, room)):
        for at, piece in enumerate(pieces):
            if piece.rank == rank:
                more = max(0, min(room, most - taken[at], len(piece.lines) - taken[at]))
                taken[at], room = taken[at] + more, room - more
    for piece, count in zip(pieces, taken, strict=True):
        yield from piece.lines[: count if count == len(piece.lines) else max(0, count - 1)]
        if 0 < count < len(piece.lines):
            yield clipped(f"{piece.lines[count - 1]} …", width)
