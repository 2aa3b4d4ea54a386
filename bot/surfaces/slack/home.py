"""The bot's App Home, as a view."""

from __future__ import annotations

from typing import Any

from bot.surfaces.slack.message import bullets, footnote, header, paragraph


def home_view(nodes: int, running: int, waiting: int | None) -> dict[str, Any]:
    """Return the view: what to type, how many nodes there are, and how the bot itself is.

    Shape: `waiting` is None where the outbox cannot be asked.
    """
    posts = "the ledger cannot be asked" if waiting is None else f"{waiting} posts waiting for Slack"
    return {
        "type": "home",
        "blocks": [
            header("zombie"),
            paragraph("I log in to a sick node, read what matters, and post one verdict with its proof."),
            bullets(
                [
                    ("/zombie check NODE…", "one verdict a node"),
                    ("@zombie check NODE", "the same, in a thread, where slash commands do not work"),
                    ("/zombie help", "what I can do"),
                ]
            ),
            footnote(f"{nodes} nodes in the inventory · {running} being read now · {posts}"),
        ],
    }
