"""The last lines of a card: what the verdict leaves open, links, the record's head, the alerts, and who asked."""

from __future__ import annotations

from collections.abc import Iterator

from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.domain.verdict import Verdict
from bot.surfaces.slack.blocks import bold, line, link, person, slack_user, text
from bot.surfaces.slack.message import Block, clipped, footnote, record_line
from bot.surfaces.view.view import GroupView
from bot.surfaces.view.words import trait_words

SAID = 500  # characters of a sentence
ABOUT = 240  # of what the alerts said, on a node's card
MOST_ASKERS = 3
MOST_LINKED = 4  # nodes with their own links on a card of several: it has to fit a phone


def remainder(verdict: Verdict) -> Iterator[Block]:
    """One line for the causes, one for the probes; the thread has the reasons, and a folded list of each."""
    causes = []
    if verdict.undecided:
        causes.append(f"Undecided: {', '.join(open_.cause for open_ in verdict.undecided)}.")
    if verdict.ruled_out:
        causes.append(f"Ruled out: {len(verdict.ruled_out)}.")
    if causes:
        yield footnote(clipped(f"{' '.join(causes)} The reasons are in the thread.", SAID))
    if verdict.unread:
        names = ", ".join(unread.probe for unread in verdict.unread)
        yield footnote(clipped(f"Not read: {names}. The reasons are in the thread.", SAID))


def closing(group: GroupView) -> Iterator[Block]:
    """The last lines of a card, for a single node or for several."""
    if len(group.incidents) == 1:
        (view,) = group.incidents
        if view.verdict is not None and view.state is State.TRIAGED:
            took = f"read in {view.verdict.took.total_seconds():.1f} s"
            said = " · ".join(part for part in (took, trait_words(view.verdict.snapshot)) if part)
            yield footnote(clipped(said, SAID))
        if view.plan is not None and view.plan.lasting_fix and view.state is State.RESOLVED:
            yield footnote(clipped(f"Lasting fix: {view.plan.lasting_fix}", SAID))
        name = [f"incident {view.id}"] if view.id else []
        name += [f"reopens {view.reopens}"] if view.reopens else []
    else:
        name = [f"{len(group.incidents)} incidents"] if all(view.id for view in group.incidents) else []
        yield from _links_of_many(group)
    if group.head:
        yield record_line(group.head)
    if group.about:
        yield footnote(clipped(group.about, ABOUT) if len(group.incidents) == 1 else group.about)
    asked = [person(by) for by in group.askers if slack_user(by)][:MOST_ASKERS]
    links = group.incidents[0].links if len(group.incidents) == 1 else ()
    if pieces := [
        *([text("Asked by "), *asked] if asked else []),
        *(text(f" · {part}") for part in name),
        *(piece for name, address in links for piece in (text(" · "), link(name, address))),
    ]:
        yield line(*pieces)


def _links_of_many(group: GroupView) -> Iterator[Block]:
    """A line of links for all nodes, and a line for each of the first nodes."""
    linked = [view for view in group.incidents if view.links]
    shared = [each for each in linked[0].links if all(each in view.links for view in group.incidents)] if linked else []
    rows: list[tuple[str, list[tuple[str, str]]]] = [("All", shared)]
    rows += [(view.node, [each for each in view.links if each not in shared]) for view in linked[:MOST_LINKED]]
    for word, links in rows:
        if links:
            pieces = [piece for name, address in links for piece in (text(" · "), link(name, address))]
            yield line(bold(f"{one_line(word, 60)}:"), text(" "), *pieces[1:])
