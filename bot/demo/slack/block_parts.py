"""The interactive elements of blocks: finding them, and giving them the ids that Slack gives them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

Block: TypeAlias = dict[str, Any]
Blocks: TypeAlias = tuple[Block, ...]


def interactive(block: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield each interactive element of a block with its position.

    Example: `list(interactive({"type": "input", "element": {"type": "plain_text_input"}}))` is
    `[("element", {"type": "plain_text_input"})]`
    """
    if block.get("type") == "input":
        yield "element", block["element"]
    if block.get("type") == "actions":
        for index, element in enumerate(block["elements"]):
            yield f"elements/{index}", element


def as_stored_by_slack(blocks: Sequence[Block], next_id: Callable[[], str]) -> Blocks:
    """Return the blocks as Slack stores them: every block has a `block_id`, every element an `action_id`."""
    kept = copy.deepcopy(list(blocks))
    for block in kept:
        if not block.get("block_id"):
            block["block_id"] = next_id()
        for _, element in interactive(block):
            element.setdefault("action_id", next_id())
    return tuple(kept)


def find_element(
    blocks: Sequence[Block], action_id: str, block_id: str | None = None, shown: Block | None = None
) -> tuple[Block, Block]:
    """Return the block and the element with this action id.

    Shape: `shown` is the element as it was shown to whoever used it. An edit gives blocks new ids, so where the block
    is gone, the same element in another block is meant.
    Raises: LookupError, which lists the elements, when there is none with this id.
    """
    there = [(block, element) for block in blocks for _, element in interactive(block)]
    for block, element in there:
        if element.get("action_id") == action_id and block_id in (None, block.get("block_id")):
            return block, element
    for block, element in there:
        if shown is not None and element.get("action_id") == action_id and element == shown:
            return block, element
    named = ", ".join(str(element.get("action_id")) for _, element in there)
    raise LookupError(f"no element {action_id!r} here; there are {named or 'none'}")
