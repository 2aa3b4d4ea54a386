"""A plan as Slack shows it: its exact commands, what it does to the node, and what became of each step."""

from __future__ import annotations

from collections.abc import Iterator

from bot.domain.safe_text import one_line
from bot.surfaces.slack.message import Block, clipped, preformatted, titled
from bot.surfaces.slack.rich import bold, code, date, listing, text
from bot.surfaces.view.plan_words import SAID, PlanView, StepView

MOST_COMMANDS = 6
COMMAND = 600  # characters of one command on the card; the dialog and the thread have it whole
MOST_MOVED = 12  # pods on the card; the record has them all


def command_block(plan: PlanView) -> Block:
    """Return a plan's commands as they are, as far as a card has room."""
    shown = [clipped(one_line(command, 10_000), COMMAND) for command in plan.commands[:MOST_COMMANDS]]
    if len(plan.commands) > len(shown):
        shown.append(f"… and {len(plan.commands) - len(shown)} more")
    return preformatted(shown or ["(no command)"])


def effect_blocks(plan: PlanView) -> Iterator[Block]:
    """Yield what a plan does, what it is bound to, its notes, and what would last."""
    yield from moved_blocks(plan)
    about = [("What it does", plan.impact), ("Bound to", bound_words(plan))]
    about += [("Note", note) for note in plan.notes]
    about.append(("Lasting fix", plan.lasting_fix))
    yield listing([(bold(f"{word}: "), text(sentence, SAID * 2)) for word, sentence in about if sentence])


def moved_blocks(plan: PlanView) -> Iterator[Block]:
    """Yield what a drain would move as things stand, with the jobs that it is part of."""
    if rows := [clipped(one_line(row, 1000), SAID) for row in plan.moves[:MOST_MOVED]]:
        yield titled(f"What the drain moves, as of now ({len(plan.moves)})")
        more = len(plan.moves) - len(rows)
        yield preformatted([*rows, f"… and {more} more"] if more else rows)


def bound_words(plan: PlanView) -> str:
    """Return which machine, and which boot of it, a plan is for."""
    return f"{plan.bound_to}: if the node is another by then, the plan is cancelled" if plan.bound_to else ""


def step_blocks(plan: PlanView) -> Iterator[Block]:
    """Yield the steps of an approved plan with what became of each."""
    if plan.steps:
        yield listing([_step(step) for step in plan.steps], "ordered")


def _step(step: StepView) -> list[Block]:
    pieces = [bold(step.words, 200), text(f" — {step.outcome}", SAID * 2)]
    if step.since is not None:
        return [*pieces, text(", since "), date(step.since, "{time_secs}")]
    return [*pieces, *(piece for seen in step.seen for piece in (text(". "), code(seen)))]
