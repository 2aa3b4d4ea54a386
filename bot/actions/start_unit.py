"""Start a unit that starts at boot and was found stopped. It never stops or disables anything."""

from __future__ import annotations

from bot.actions import unit_state
from bot.actions.conflicts import Conflicts
from bot.domain.action import Action, Args, Facts, Proof, RemedyRules, by_sudo

RIGHTS = (("systemctl", "start", "--", "{unit}"),)


def judge(args: Args, before: Facts, now: Facts) -> Proof:
    """Judge whether the unit runs, and systemd did not have to restart it since.

    A manual start sets `NRestarts` to 0; if the unit was running already, the counter stays. systemd counts since 235;
    before that, running at every look must be enough.
    """
    counted = before.get("NRestarts", "0") if before["ActiveState"] == "active" else "0"
    is_steady = now.get("NRestarts", counted) == counted
    return Proof.PROVEN if now["ActiveState"] == "active" and is_steady else Proof.NOT_YET


ACTION = Action(
    name="start_unit",
    title="Start {unit}",
    verb="start",
    impact="{unit} starts now, and with it what it requires",
    note="Somebody may have stopped it on purpose. A start cannot be undone: the bot never stops what it started.",
    targets=("unit",),
    commands=by_sudo(RIGHTS),
    looks=unit_state.looks,
    facts=unit_state.facts,
    judge=judge,
    patience=unit_state.patience,
    rights=RIGHTS,
    starts_a_unit=True,
    around=Conflicts(),
    remedy=RemedyRules(only_where="it starts a unit that was found stopped"),
)
