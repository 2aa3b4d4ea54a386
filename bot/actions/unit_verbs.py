"""What systemctl does to a unit: it is disabled, masked or started, and brought back to how it was.

A verb is a row of one table. Its proof is the unit's own state. Defined in: systemctl(1), org.freedesktop.systemd1(5).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from bot.actions.conflicts import Conflicts
from bot.actions.dependents import Dependents
from bot.domain.action import Action, Args, Facts, Proof, RemedyRules, Step, by_sudo
from bot.domain.command import Command, Outputs
from bot.domain.errors import CannotRead
from bot.probes.formats.systemd_span import systemd_span

STARTED_BY = ("TriggeredBy", "UpheldBy", "WantedBy", "RequiredBy", "BoundBy")
PROPERTIES = (
    *("Id", "Names", "LoadState", "ActiveState", "SubState", "UnitFileState", "NRestarts", "RestartUSec"),
    *("Type", *STARTED_BY),
)
SHORTEST = timedelta(seconds=15)
RESTORE = "restore_unit"
WAYS_BACK = ("enable", "unmask", "start")
_RUNS = {"active", "activating", "reloading", "refreshing"}
_ON = {"active", "activating", "deactivating", "reloading", "refreshing", "maintenance"}
_STARTS_AT_BOOT = {"enabled", "enabled-runtime", "linked", "linked-runtime", "alias"}
_UNTIL_BOOT = "masked-runtime"  # a mask in /run, which the next boot does not have
_LONGEST_REST = timedelta(hours=1)


# --- a unit's state


def unit_command(args: Args) -> tuple[Command, ...]:
    """Return the command that reads the unit; it needs no root."""
    argv = ("systemctl", "show", "--no-pager", "-p", ",".join(PROPERTIES), "--", args["unit"])
    return (Command("unit", argv, lane="systemd", output_limit_bytes=16 * 1024),)


def facts(args: Args, outputs: Outputs) -> Facts:
    """Return the unit's properties.

    Raises: CannotRead when systemd does not say whether it runs and whether it starts at boot.
    """
    found = dict(line.split("=", 1) for line in outputs.text("unit").splitlines() if "=" in line)
    properties = {name: found[name] for name in PROPERTIES if name in found}
    if not properties.get("ActiveState") or not properties.get("LoadState"):
        raise CannotRead(f"systemd does not say how {args['unit']} is")
    return properties


def facts_to_restore(args: Args, outputs: Outputs) -> Facts:
    """Return the unit's state without its restarts: a unit that crashed before may crash again, and still be restored.

    Raises: as `facts`.
    """
    return {name: value for name, value in facts(args, outputs).items() if name not in ("NRestarts", "SubState")}


def patience(before: Facts) -> timedelta:
    """Return how long to wait before a unit that systemd may restart counts as off: 1.5 times its RestartSec.

    Example:
    >>> patience({"RestartUSec": "1min 30s"}), patience({"RestartUSec": "100ms"})
    (datetime.timedelta(seconds=135), datetime.timedelta(seconds=15))
    """
    rests = systemd_span(before.get("RestartUSec", "")) or timedelta(0)
    return max(SHORTEST, 1.5 * min(rests, _LONGEST_REST))


# --- proofs


def judge_off(args: Args, before: Facts, now: Facts) -> Proof:
    """Judge whether the unit neither runs, nor is starting, nor is started by anything, such as the next boot.

    `disable` removes the links of a unit's own file and has systemd read all files again: what wants it then still does
    so by itself.
    """
    if judge_masked(args, before, now) is Proof.PROVEN:
        return Proof.PROVEN
    starts = now.get("UnitFileState", "") in {*_STARTS_AT_BOOT, _UNTIL_BOOT} or any(map(now.get, STARTED_BY))
    return Proof.PROVEN if now["ActiveState"] not in _ON and not starts else Proof.NOT_YET


def judge_masked(args: Args, before: Facts, now: Facts) -> Proof:
    """Judge whether the unit does not run, and nothing can start it, after the next boot either.

    An older systemd says `bad` of the file of a masked unit, wherever the mask is: then it has to be new.
    """
    lasts = now.get("UnitFileState", "") == "masked" or before.get("LoadState") != "masked"
    return Proof.PROVEN if _is_masked(now) and lasts and now["ActiveState"] not in _ON else Proof.NOT_YET


def _is_masked(found: Facts) -> bool:
    file = found.get("UnitFileState", "")
    return file != _UNTIL_BOOT and "masked" in (file, found.get("LoadState"))


def judge_steady(args: Args, before: Facts, now: Facts) -> Proof:
    """Judge whether the unit runs, and systemd did not have to restart it since.

    A manual start sets `NRestarts` to 0; if the unit was running already, the counter stays. systemd counts since 235;
    before that, running at every look must be enough.
    """
    counted = before.get("NRestarts", "0") if before["ActiveState"] == "active" else "0"
    steady = now.get("NRestarts", counted) == counted
    return Proof.PROVEN if now["ActiveState"] == "active" and steady else Proof.NOT_YET


def judge_restored(args: Args, before: Facts, now: Facts) -> Proof:
    """Judge whether the unit has the state that the verbs lead to."""
    so = {
        "enable": now.get("UnitFileState", "") in _STARTS_AT_BOOT,
        "unmask": not _is_masked(now),
        "start": now["ActiveState"] in _RUNS,
    }
    return Proof.PROVEN if all(so[verb] for verb in args["verbs"].split()) else Proof.NOT_YET


# --- the way back


def undo_disable(args: Args, before: Facts) -> tuple[Step, ...]:
    """Return the step that restores the recorded state.

    Example:
    >>> [step.commands for step in undo_disable({"unit": "ecs.service"}, {"ActiveState": "activating",
    ...     "UnitFileState": "enabled"})]
    [('sudo -n systemctl enable -- ecs.service', 'sudo -n systemctl start -- ecs.service')]
    """
    # `disable` leaves the links in /run (`enabled-runtime`) as they are, so there is nothing to enable again.
    return _restoring_steps(args, before, "enable" if before.get("UnitFileState") == "enabled" else "")


def undo_mask(args: Args, before: Facts) -> tuple[Step, ...]:
    """Return the step that restores the recorded state.

    Example:
    >>> [step.commands for step in undo_mask({"unit": "x.service"}, {"ActiveState": "inactive", "LoadState": "loaded"})]
    [('sudo -n systemctl unmask -- x.service',)]
    >>> [step.commands for step in undo_mask({"unit": "x.service"}, {"ActiveState": "activating", "LoadState": "loaded",
    ...     "Type": "oneshot", "TriggeredBy": "x.timer"})]
    [('sudo -n systemctl unmask -- x.service',)]
    """
    return _restoring_steps(args, before, "" if _is_masked(before) else "unmask")


def _restoring_steps(args: Args, before: Facts, verb: str) -> tuple[Step, ...]:
    """The verb, if there is one, and a start if the unit ran or was about to; no step where nothing is to be done.

    A job that runs once (`oneshot`) and is not over, or that something else starts, is not run anew: its own time will
    come, and a start would wait for its end.
    """
    runs_by_itself = before.get("Type") == "oneshot" and (
        before.get("ActiveState") != "active" or before.get("TriggeredBy")
    )
    ran = before.get("ActiveState") in ("active", "activating", "reloading") and not runs_by_itself
    verbs = [verb] * bool(verb) + ["start"] * ran
    lines = tuple(f"sudo -n systemctl {word} -- {shlex.quote(args['unit'])}" for word in verbs)
    return (Step(RESTORE, {"unit": args["unit"], "verbs": " ".join(verbs)}, lines),) if lines else ()


def restoring_rights(args: Args) -> tuple[tuple[str, ...], ...]:
    """Return the argument lists run as root; without verbs, those of all verbs."""
    verbs: Iterable[str] = args["verbs"].split() if "verbs" in args else WAYS_BACK
    return tuple(("systemctl", verb, "--", args["unit"]) for verb in verbs)


@dataclass(frozen=True, slots=True)
class StartedAgain:
    """Reads what else a start among the verbs starts and stops; the other verbs start and stop nothing.

    For a masked unit systemd knows which units conflict with it, but not its own conflicts.
    """

    conflicts: Conflicts = Conflicts()

    def looks(self, args: Args) -> tuple[Command, ...]:
        """Return the command, if the unit is started."""
        return self.conflicts.looks(args) if "start" in args["verbs"].split() else ()

    def affects(self, args: Args, outputs: Outputs) -> str:
        """Describe what starts with the unit and what stops for it. Raises: as in `Conflicts`."""
        return self.conflicts.affects(args, outputs) if "start" in args["verbs"].split() else ""


# --- the verbs

_DISABLE = (("systemctl", "disable", "--now", "--", "{unit}"),)
_MASK = (("systemctl", "mask", "--now", "--", "{unit}"),)
_START = (("systemctl", "start", "--", "{unit}"),)
_BEFORE_REBOOT = RemedyRules(before_reboot="a reboot restarts every unit that is not disabled")

ACTIONS = (
    Action(
        name="disable_unit",
        title="Disable {unit}",
        verb="disable",
        impact="{unit} stops and does not start at boot",
        targets=("unit",),
        commands=by_sudo(_DISABLE),
        rights=_DISABLE,
        looks=unit_command,
        facts=facts,
        judge=judge_off,
        patience=patience,
        inverse=undo_disable,
        stops_a_unit=True,
        around=Dependents(),
        remedy=_BEFORE_REBOOT,
    ),
    # For units without [Install] section, or that something enables again.
    Action(
        name="mask_unit",
        title="Mask {unit}",
        verb="mask",
        impact="{unit} stops, and nothing can start it until it is unmasked",
        targets=("unit",),
        commands=by_sudo(_MASK),
        rights=_MASK,
        looks=unit_command,
        facts=facts,
        judge=judge_masked,
        patience=patience,
        inverse=undo_mask,
        stops_a_unit=True,
        around=Dependents(masks=True),
        remedy=_BEFORE_REBOOT,
    ),
    # For a unit that starts at boot and was found stopped. It never stops or disables anything.
    Action(
        name="start_unit",
        title="Start {unit}",
        verb="start",
        impact="{unit} starts now, and with it what it requires",
        note="Somebody may have stopped it on purpose. A start cannot be undone: the bot never stops what it started.",
        targets=("unit",),
        commands=by_sudo(_START),
        rights=_START,
        looks=unit_command,
        facts=facts,
        judge=judge_steady,
        patience=patience,
        starts_a_unit=True,
        around=Conflicts(),
        remedy=RemedyRules(only_where="it starts a unit that was found stopped"),
    ),
)

# Undoes the first two; no playbook asks for it.
BRING_BACK = Action(
    name=RESTORE,
    title="Bring back {unit}",
    verb="bring back",
    impact="{unit} is again as it was before ({verbs})",
    targets=("unit",),
    commands=by_sudo(restoring_rights),
    rights=restoring_rights,
    looks=unit_command,
    facts=facts_to_restore,
    judge=judge_restored,
    patience=lambda before: SHORTEST,
    around=StartedAgain(),
    remedy=None,
)
