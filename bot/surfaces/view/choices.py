"""What a person can choose on a card: the one rule for which buttons and answers stand there. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from bot.domain.events import GIVE_UP, GO_ON
from bot.domain.incident import Incident
from bot.domain.transitions import State

APPROVE, DECLINE, UNDO, PICK, ANSWER = "approve", "decline", "undo", "pick_node", "answer"
MOST_ASKED = 5  # questions on one card; once they are answered, the next ones have room
MOST_UNDO = 10  # the others are undone by the command


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing that can be chosen.

    Shape: `about` is a group's name for approve and decline, an incident's id for the others; `nodes` are those it is
    for. `options` are the answers of `answer`, and the nodes of `pick_node`.
    """

    kind: str
    about: str
    nodes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What is chosen, in plain words.

        Example: "approve 2 plans".
        """
        if self.kind in (APPROVE, DECLINE):
            return f"{self.kind} {len(self.nodes)} plans" if len(self.nodes) > 1 else self.kind
        return f"answer {' or '.join(self.options)}" if self.kind == ANSWER else self.kind.replace("_", " ")


def choice_words(choices: Sequence[Choice]) -> str:
    """Return what can be chosen, for a surface without buttons.

    Example: "approve or decline".
    """
    return " or ".join(dict.fromkeys(choice.words for choice in choices))


def choices_of(
    group: Sequence[Incident], checking: Collection[str] = (), undoable: Collection[str] = ()
) -> Iterator[Choice]:
    """Yield what can be chosen on the card of a group.

    Shape: `checking` are incidents with a yes that is being checked, `undoable` those whose steps can be taken back;
    both by incident id.
    """
    yield from decisions_on([incident for incident in group if is_undecided(incident, checking)])
    for incident in [incident for incident in group if incident.state is State.UNKNOWN][:MOST_ASKED]:
        if options := options_of(incident):
            yield Choice(ANSWER if incident.node else PICK, incident.id, (incident.node,), options)
    ended = [incident for incident in group if incident.ended and incident.id in undoable]
    yield from (Choice(UNDO, incident.id, (incident.node,)) for incident in ended[:MOST_UNDO])


def decisions_on(plans: Sequence[Incident]) -> Iterator[Choice]:
    """Yield approve and decline for the plans of one card that wait for a decision."""
    if plans:
        nodes = tuple(incident.node for incident in plans)
        yield Choice(APPROVE, group_of(plans[0]), nodes)
        yield Choice(DECLINE, group_of(plans[0]), nodes)


def is_undecided(incident: Incident, checking: Collection[str] = ()) -> bool:
    """True while a plan waits for a decision, and nobody's yes is being checked."""
    return incident.state is State.PROPOSED and incident.id not in checking


def options_of(incident: Incident) -> tuple[str, ...]:
    """Return what can be answered to an incident's open question."""
    if incident.question is None:
        return ()
    return tuple(dict.fromkeys(incident.question.options)) or ((GO_ON, GIVE_UP) if incident.node else ())


def group_of(incident: Incident) -> str:
    """Return the name of the card that an incident stands on."""
    return incident.group or incident.id
