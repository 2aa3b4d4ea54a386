"""Start a unit that starts at boot and was found stopped. It is never stopped or disabled by that."""

from __future__ import annotations

from bot.actions import unit_state
from bot.actions.conflicts import Conflicts
from bot.domain.action import Action, Args, Facts, Proof, RemedyRules, by_sudo


def rights(args: Args) -> tuple[tuple[str, ...], ...]:
    """Return what is run as root."""
    return (("systemctl", "start", "--", args["unit"]),)


def judge(args: Args, before: Facts, now: Facts) -> Proof:
    """Judge whether the unit runs, and systemd did not have to start it again since.

    A start by hand sets `NRestarts` to 0; where the unit ran already, the counter stays as it was. systemd counts since
    235: before that, that it runs at every look has to do.
    """
    counted = before.get("NRestarts", "0") if before["ActiveState"] == "active" else "0"
    is_steady = now.get("NRestarts", counted) == counted
    return Proof.PROVEN if now["ActiveState"] == "active" and is_steady else Proof.NOT_YET


ACTION = Action(
    name="start_unit",
    title="Start {unit}",
    verb="start",
    impact="{unit} starts now, and with it what it requires",
    note="Somebody may have stopped it on purpose. A start is not taken back: the bot never stops what it started.",
    targets=("unit",),
    commands=by_sudo(rights),
    looks=unit_state.looks,
    facts=unit_state.facts,
    judge=judge,
    patience=unit_state.patience,
    rights=rights,
    starts_a_unit=True,
    around=Conflicts(),
    remedy=RemedyRules(only_where="it starts what was found stopped"),
)
