"""A Slack message as a value, and the limits that every message keeps.

Limits: the Block Kit reference, and what Slack refuses beyond it (13,000 characters in all).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from bot.domain.post import CardPosts
from bot.domain.safe_text import safe

Block: TypeAlias = Mapping[str, Any]

BLOCKS = 50
TEXT = 3000  # the `text` of a message: screen readers and phones take it whole, Slack cuts it near 4,000
HEADER = 150
SECTION = 3000
CONTEXT_TEXT = 2000
CONTEXT_PIECES = 10
ALL_BLOCKS = 12_000  # JSON of all blocks together; Slack answers msg_blocks_too_long at about 13,200
CONTAINER = "container"
FOLDED = 2500  # characters of a block in a fold
FOLD_PIECES = 2  # blocks in a fold, so that a message always has room for it; Slack allows 10
RECORD = "record"
INVITE = (
    "I may not write in this channel, so only you see this. "
    "/invite me and ask again to have it as a card, with its details."
)


@dataclass(frozen=True, slots=True)
class Message:
    """A message to post: the whole story in `text`, and the blocks that show it.

    Shape: `broadcast`: a reply in a thread that the channel sees too.
    """

    text: str
    blocks: tuple[Block, ...] = ()
    broadcast: bool = False


def wording_of(message: Message) -> str:
    """Return the SHA-256 of a message's content: equal for equal messages."""
    body = json.dumps([message.text, list(message.blocks)], sort_keys=True)
    return hashlib.sha256(body.encode()).hexdigest()


def stands_so(posts: CardPosts, wording: str) -> bool:
    """True if the wording was delivered, and no later wording waits or was given up."""
    content = posts.standing
    if content is None:
        return False
    return wording_of(Message(str(content.get("text", "")), tuple(content.get("blocks", ())))) == wording


def escaped(text: str) -> str:
    """Return text in which nothing is a mention, a link or an entity to Slack.

    Example:
    >>> escaped("<!channel> & <@U1>")
    '&lt;!channel&gt; &amp; &lt;@U1&gt;'
    """
    return safe(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def clipped(text: str, limit: int) -> str:
    """Return text of at most `limit` characters, with an ellipsis where it was longer."""
    return text if len(text) <= limit else text[: max(0, limit - 1)] + "…"


def plain_text(words: str) -> Block:
    """A text object in which nothing is markup; the words have to be safe already."""
    return {"type": "plain_text", "text": words, "emoji": False}


def header(text: str) -> Block:
    """A large line; plain text, so nothing in it is markup."""
    return {"type": "header", "text": plain_text(clipped(safe(text), HEADER))}


def paragraph(text: str) -> Block:
    """Words of the bot or of a node, never interpreted."""
    return {"type": "section", "text": plain_text(clipped(safe(text), SECTION) or " ")}


def paragraphs(text: str) -> Iterator[Block]:
    """Yield words that are never shortened: as many paragraphs as they need."""
    words = safe(text)
    yield from (paragraph(words[at : at + SECTION]) for at in range(0, max(1, len(words)), SECTION))


def footnotes(texts: Iterable[str], limit: int = CONTEXT_TEXT) -> Iterator[Block]:
    """Yield small print, in as few blocks as it fits; empty texts are left out."""
    words = [clipped(safe(text), limit) for text in texts if text.strip()]
    yield from (footnote(*words[at : at + CONTEXT_PIECES]) for at in range(0, len(words), CONTEXT_PIECES))


def markup(text: str) -> Block:
    """Words of the bot alone, in which Slack's markup works."""
    return {"type": "section", "text": {"type": "mrkdwn", "text": clipped(text, SECTION)}}


def footnote(*texts: str) -> Block:
    """Small print: one text, or several, at most `CONTEXT_PIECES`."""
    return {"type": "context", "elements": [plain_text(clipped(safe(text), CONTEXT_TEXT)) for text in texts]}


def record_line(head: str) -> Block:
    """The record's head. It is found again by the block's id, which no node or alert can forge."""
    return {**footnote(f"{RECORD} {head}"), "block_id": RECORD}


def record_heads(blocks: Iterable[Any]) -> Iterator[str]:
    """Yield the record's heads in a message of the bot."""
    for block in blocks:
        if isinstance(block, Mapping) and block.get("block_id") == RECORD and (elements := block.get("elements")):
            yield str(elements[0].get("text", "")).removeprefix(f"{RECORD} ")


def bullets(items: Sequence[tuple[str, str]]) -> Block:
    """A list of (bold word, sentence). Rich text is never parsed, so a node's words stay words."""
    return {
        "type": "rich_text",
        "elements": [
            {
                "type": "rich_text_list",
                "style": "bullet",
                "elements": [
                    {"type": "rich_text_section", "elements": _bold_then(word, sentence)} for word, sentence in items
                ],
            }
        ],
    }


def _bold_then(word: str, sentence: str) -> list[dict[str, Any]]:
    elements: list[dict[str, Any]] = []
    if word:
        elements.append({"type": "text", "text": safe(f"{word}: "), "style": {"bold": True}})
    elements.append({"type": "text", "text": safe(sentence) or " "})
    return elements


def titled(title: str) -> Block:
    """A bold line of the bot's words."""
    return {
        "type": "rich_text",
        "elements": [
            {
                "type": "rich_text_section",
                "elements": [{"type": "text", "text": safe(title), "style": {"bold": True}}],
            }
        ],
    }


def preformatted(lines: Sequence[str]) -> Block:
    """A node's own lines, or commands, as they are."""
    text = "\n".join(safe(line).replace("\n", " ") for line in lines)
    return {
        "type": "rich_text",
        "elements": [{"type": "rich_text_preformatted", "elements": [{"type": "text", "text": text or " "}]}],
    }


def folded(title: str, words: str) -> Iterator[Block]:
    """Yield words folded under a title; long texts in several folds.

    A fold holds plain text: https://docs.slack.dev/reference/block-kit/blocks/container-block promises rich
    text there, but some Slack clients refuse it.
    """
    text = safe(words).strip() or "nothing"
    pieces = [text[at : at + FOLDED] for at in range(0, len(text), FOLDED)]
    for number, at in enumerate(range(0, len(pieces), FOLD_PIECES), 1):
        more = f", continued ({number})" if number > 1 else ""
        yield {
            "type": CONTAINER,
            "title": plain_text(f"{clipped(safe(title), 120)}{more}"),
            "is_collapsible": True,
            "default_collapsed": True,
            "width": "full",
            "child_blocks": [paragraph(piece) for piece in pieces[at : at + FOLD_PIECES]],
        }


def divider() -> Block:
    """A thin line."""
    return {"type": "divider"}


def length(block: Block) -> int:
    """Return a block's share of Slack's limit: its JSON, not only its words."""
    return len(json.dumps(block, ensure_ascii=False, separators=(",", ":"))) + 1


def paged(blocks: Sequence[Block]) -> Iterator[tuple[Block, ...]]:
    """Split blocks into messages that each keep the limits on number and length; nothing is left out."""
    page: list[Block] = []
    taken = 0
    for block in blocks:
        size = length(block)
        if page and (len(page) >= BLOCKS or taken + size > ALL_BLOCKS):
            yield tuple(page)
            page, taken = [], 0
        page.append(block)
        taken += size
    if page:
        yield tuple(page)


def fitted(first: Sequence[Block], middle: Sequence[Block], last: Sequence[Block]) -> tuple[Block, ...]:
    """Return a message's blocks: first and last whole, and as much of the middle as fits."""
    room = ALL_BLOCKS - sum(length(block) for block in (*first, *last))
    places = BLOCKS - len(first) - len(last)
    kept: list[Block] = []
    for block in middle[:places]:
        room -= length(block)
        if room < 0:
            break
        kept.append(block)
    return (*first, *kept, *last)


def has_folds(message: Message) -> bool:
    """True for a message with a folded part."""
    return any(block.get("type") == CONTAINER for block in message.blocks)


def unfolded(message: Message) -> Message:
    """Return the message with its folds opened, as far as there is room for blocks."""
    opened: list[Block] = []
    for block in message.blocks:
        opened += [titled(block["title"]["text"]), *block["child_blocks"]] if block["type"] == CONTAINER else [block]
    return replace(message, blocks=tuple(opened[:BLOCKS]))


def without_blocks(message: Message) -> Message:
    """Return the message as text alone, for when Slack refuses its blocks: all words that fit a text.

    A fence stops markup: in an edited text Slack would otherwise make words between asterisks bold.
    """
    said = [message.text, *(escaped(text) for block in message.blocks for text in _texts(block))]
    text = "\n".join(dict.fromkeys(said)).replace("```", "'''")
    return Message(f"```{clipped(text, TEXT)}```", broadcast=message.broadcast)


def for_one_person(message: Message) -> Message:
    """Return the message for one person, where the bot may not write in the channel; it says how to invite the bot."""
    blocks = (*message.blocks[: BLOCKS - 1], paragraph(INVITE)) if message.blocks else ()
    return Message(f"{clipped(message.text, TEXT)}\n{INVITE}", blocks)


def _texts(part: object) -> Iterator[str]:
    """Every text in a block, in order."""
    if isinstance(part, Mapping):
        if isinstance(text := part.get("text"), str):
            yield text
        for inner in part.values():
            yield from _texts(inner)
    elif isinstance(part, list | tuple):
        for inner in part:
            yield from _texts(inner)
