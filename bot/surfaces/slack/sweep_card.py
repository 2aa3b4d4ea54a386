"""The digest of a scheduled sweep: what is new, what is nearer to harm, what is gone. Pure functions."""

from __future__ import annotations

from bot.domain.duration import span
from bot.domain.safe_text import listed, one_line
from bot.response.fleet.scheduled import Digest, ScheduledSweep
from bot.surfaces.fleet import headline
from bot.surfaces.slack.message import TEXT, Block, Message, bullets, clipped, escaped, footnote, header, paragraph
from bot.surfaces.view.growth_words import harm_words, sparkline

SAID = 400
MOST = 10  # of a list
NAMED = 8  # nodes by name


def digest_card(sweep: ScheduledSweep, digest: Digest) -> Message:
    """Return the message: it asks for nothing, `/zombie check NODE` gives the verdict."""
    new = sum(len(nodes) for nodes in digest.new.values())
    parts = [f"{new} new" if new else "", f"{len(digest.nearer)} nearer to harm" if digest.nearer else ""]
    title = f"Sweep of {one_line(' '.join(sweep.ask.words), 60)}: {', '.join(filter(None, parts)) or 'nothing new'}"
    blocks: list[Block] = [header(title), paragraph(clipped(f"{headline(digest.report)}.", SAID))]
    if digest.nearer:
        near = [(node, f"{sparkline(growth, 16)} {harm_words(growth)}") for node, growth in digest.nearer[:MOST]]
        blocks.append(bullets([(one_line(node, 60), clipped(words, SAID)) for node, words in near]))
    rows = [(f"new: {cause}", _named(nodes)) for cause, nodes in digest.new.items()]
    rows += [(f"gone: {cause}", _named(nodes)) for cause, nodes in digest.gone.items()]
    if rows:
        blocks.append(bullets([(about, clipped(words, SAID)) for about, words in rows[:MOST]]))
    blocks.append(
        footnote(
            f"Every {span(sweep.every)}: zombie fleet {one_line(sweep.ask.says, 200)}. A single look finds what is "
            "possible; /zombie check NODE gives the verdict."
        )
    )
    says = [f"{node}: {harm_words(growth)}" for node, growth in digest.nearer[:3]]
    return Message(clipped(escaped(" ".join([f"{title}.", *says])), TEXT), tuple(blocks))


def _named(nodes: tuple[str, ...]) -> str:
    return listed([one_line(node, 60) for node in nodes], NAMED)
