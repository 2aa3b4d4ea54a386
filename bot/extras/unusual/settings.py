"""Which nodes are peers."""

from __future__ import annotations

from dataclasses import dataclass

from bot.domain.setting import option, text_or_texts


@dataclass(frozen=True, slots=True)
class UnusualSettings:
    """What nodes have in common whose facts are compared."""

    like: tuple[str, ...] = option(
        text_or_texts,
        ("role", "type"),
        "The labels that make nodes peers, where they have the same values.",
    )
