"""Blocks of newer kinds, which not every workspace accepts, and their older forms."""

from __future__ import annotations

from bot.surfaces.slack.feedback import has_feedback, with_plain_feedback
from bot.surfaces.slack.message import Message, has_folds, unfolded
from bot.surfaces.slack.table import has_data_table, with_plain_tables


def has_newer_blocks(message: Message) -> bool:
    """True for a message with blocks that a workspace may refuse."""
    return has_data_table(message) or has_feedback(message) or has_folds(message)


def in_older_blocks(message: Message) -> Message:
    """Return the message in blocks that every workspace accepts."""
    return with_plain_feedback(with_plain_tables(unfolded(message) if has_folds(message) else message))
