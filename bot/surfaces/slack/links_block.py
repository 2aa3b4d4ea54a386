"""The links on a card of several nodes: links common to all once, the others for the worst nodes."""

from __future__ import annotations

from collections.abc import Iterator

from bot.domain.safe_text import one_line
from bot.surfaces.slack.blocks import bold, line, link, text
from bot.surfaces.slack.message import Block
from bot.surfaces.view.view import GroupView

MOST_LINKED = 4  # nodes with their own links on the card: it has to fit a phone


def links_of_many(group: GroupView) -> Iterator[Block]:
    """Yield a line of links for all nodes, and a line for each of the first nodes; nothing for a single node."""
    if len(group.incidents) == 1:
        return
    linked = [view for view in group.incidents if view.links]
    shared = [each for each in linked[0].links if all(each in view.links for view in group.incidents)] if linked else []
    rows: list[tuple[str, list[tuple[str, str]]]] = [("All", shared)]
    rows += [(view.node, [each for each in view.links if each not in shared]) for view in linked[:MOST_LINKED]]
    for word, links in rows:
        if links:
            pieces = [piece for name, address in links for piece in (text(" · "), link(name, address))]
            yield line(bold(f"{one_line(word, 60)}:"), text(" "), *pieces[1:])
