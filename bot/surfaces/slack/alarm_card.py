"""The card of an alarm's nodes: their verdicts, under what the alert said and what has become of it. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from bot.domain.incident import Incident
from bot.domain.verdict import Verdict
from bot.surfaces.slack.alarm_words import about, lead
from bot.surfaces.slack.card import Underway, card
from bot.surfaces.slack.message import BLOCKS, TEXT, Block, Message, clipped, escaped, footnote, header
from bot.surfaces.slack.rich import slack_user

_NONE: Mapping[str, Underway] = MappingProxyType({})
_NO_VERDICTS: Mapping[str, Verdict] = MappingProxyType({})


def alarm_card(
    group: Sequence[Incident], progress: Mapping[str, Underway] = _NONE, fresh: Mapping[str, Verdict] = _NO_VERDICTS
) -> Message:
    """Return the card of a group whose nodes are read, or were.

    Shape: by node, `progress` is how far its reading has come, and `fresh` the verdict that is not on record yet.
    """
    told = {one.node: fresh.get(one.node, one.verdict) for one in group if one.node}
    verdicts = [verdict for verdict in told.values() if verdict is not None]
    underway = [progress.get(node, Underway(node)) for node, verdict in told.items() if verdict is None]
    asked_by = next((user for one in group if (user := slack_user(one.alert.asked_by))), "")
    return dressed(card(underway, verdicts, asked_by, {one.node: one.id for one in group}), group)


def dressed(message: Message, group: Sequence[Incident]) -> Message:
    """Return the card with what has become of the alert in its first word, and what the alert said below."""
    word = lead(group)
    blocks: list[Block] = list(message.blocks)
    if word and blocks and blocks[0].get("type") == "header":
        blocks[0] = header(f"{word}: {blocks[0]['text']['text']}")
    blocks = [*blocks[: BLOCKS - 1], *([footnote(said)] if (said := about(group)) else [])]
    text = f"{word}: {message.text}" if word else message.text
    return replace(message, text=clipped(f"{text}\n{escaped(about(group))}".strip(), TEXT), blocks=tuple(blocks))
