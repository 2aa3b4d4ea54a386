"""Answers to the fragments by which actions ask what else would start or stop with a unit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bot.demo.machine import systemd
from bot.demo.machine.command import Answer, CommandContext


def dependents(context: CommandContext, argv: Sequence[str]) -> Answer:
    """What `systemctl show` says of the last argument's unit, of each that stops with it, and is disabled with it."""
    wanted = argv[2].partition(" -p ")[2].split()[0].split(",")
    disables = "systemctl cat " in argv[2]
    return Answer.text(systemd.dependents(context.state, context.now(), argv[-1], wanted, disables))


def conflicts(context: CommandContext, argv: Sequence[str]) -> Answer:
    """What `systemctl show` says of the last argument's unit, and of what it requires; none excludes another here."""
    unit = systemd.named(context.state, argv[-1])
    return _shown(context, argv, () if unit is None else (unit.name, *unit.requires, *unit.binds_to))


def _shown(context: CommandContext, argv: Sequence[str], names: Iterable[str]) -> Answer:
    wanted = argv[2].partition(" -p ")[2].split()[0].split(",")
    blocks = [systemd.show(context.state, context.now(), wanted, (), (name,)) for name in names]
    return Answer.text("".join(f"{block}\n" for block in blocks) + "-- all told --\n")
