"""Checks a sample of nodes: connection, clock, and what the logins may run as root."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.app.factories import now
from bot.domain.batch import Batch, Sampling
from bot.domain.command import Command, Completed
from bot.domain.contracts import Transport
from bot.domain.doctor_finding import DoctorFinding, Mark
from bot.domain.errors import MissingFile, Unreachable
from bot.domain.node import Node
from bot.domain.probe import Probe
from bot.response.execution.sudoers import as_root, files_needed, root_reading_commands

NODE_SECONDS = timedelta(seconds=15)
SKEW_NOTED, SKEW_WRONG = 5.0, 60.0  # seconds between a node's clock and this machine's
_ASKED = (
    Command("who", ("whoami",)),
    Command("time", ("date", "+%s"), lane="cpu"),
    Command("virtual", ("systemd-detect-virt",)),
)
_HEAT = "/sys/devices/system/cpu/cpu0/thermal_throttle"
_NAMED = 4  # commands that are named


def sample(nodes: Sequence[Node], count: int) -> tuple[Node, ...]:
    """Return a number of nodes, spread over the inventory.

    Example:
    >>> [node.name for node in sample([Node(name, "x") for name in "abcdef"], 3)]
    ['a', 'c', 'e']
    """
    if count >= len(nodes):
        return tuple(nodes)
    return tuple(nodes[number * len(nodes) // count] for number in range(count))


@dataclass(frozen=True, slots=True)
class NodeExamination:
    """Checks nodes; `acting` replaces a node's fields for the login that acts, `acts` is what that login has to run."""

    transport: Transport
    probes: Sequence[Probe]
    acting: Mapping[str, Any]
    acts: Sequence[Sequence[str]]

    async def look(self, node: Node) -> tuple[DoctorFinding, ...]:
        """Connect to a node with each of the logins."""
        examinations = [self._login_findings(node, "node", root_reading_commands(self.probes), Mark.NOTE)]
        if self.acts:
            acts = [("sudo", "-n", *argv) for argv in self.acts]
            examinations.append(self._login_findings(replace(node, **self.acting), "node, acting", acts, Mark.WRONG))
        return tuple(examined for found in await asyncio.gather(*examinations) for examined in found)

    async def _login_findings(
        self, node: Node, word: str, rights: Sequence[Sequence[str]], lacking: Mark
    ) -> tuple[DoctorFinding, ...]:
        name = f"{word} {node.name}"
        began = asyncio.get_running_loop().time()
        try:
            runs, arrived = await self._login_answers(node, rights)
        except (Unreachable, MissingFile) as no:
            return (DoctorFinding(name, Mark.WRONG, no.sentence, no.try_next),)
        took = asyncio.get_running_loop().time() - began
        user = _stdout_of(runs, "who") or "?"
        found = [DoctorFinding(name, Mark.OK, f"logged in as {user} in {took:.1f} s")]
        if word == "node":
            found.append(_clock_finding(node, runs, arrived.get("time", now())))
            found += _heat_finding(node, runs)
        found.append(
            _rights_finding(f"{'sudo' if word == 'node' else 'sudo, acting'} {node.name}", user, runs, rights, lacking)
        )
        return tuple(found)

    async def _login_answers(
        self, node: Node, rights: Iterable[Sequence[str]]
    ) -> tuple[dict[str, Completed], dict[str, datetime]]:
        asked = [(command.name, command) for command in (*_ASKED, files_command(rights))]
        for number, (_, _, *argv) in enumerate(rights):  # without sudo -n, after which -l is added
            asked.append((f"right {number}", Command("may", ("sudo", "-n", "-l", *argv), output_limit_bytes=4096)))
        return await _answers(self.transport, node, asked)


async def find_files_on_node(transport: Transport, node: Node, probes: Iterable[Probe]) -> frozenset[str]:
    """Return which programs and devices a node has, of those that are read as root.

    Raises: Unreachable and MissingFile when the node cannot be asked, or does not say it whole.
    """
    command = files_command(root_reading_commands(probes))
    runs, _ = await _answers(transport, node, [(command.name, command)])
    if not (there := _files_found(runs)):
        raise Unreachable(f"{node.name} does not say which programs it has.", "Try again, or leave --node out.")
    return there


def files_command(rights: Iterable[Sequence[str]]) -> Command:
    """Ask which of the files are there that commands need."""
    files = dict.fromkeys(file for argv in rights for file in files_needed(argv))
    return Command("there", ("ls", "-d", "--", *files, _HEAT, "/"))


async def _answers(
    transport: Transport, node: Node, asked: Iterable[tuple[str, Command]]
) -> tuple[dict[str, Completed], dict[str, datetime]]:
    """Return the answers, and when each arrived: one that takes long makes no other late."""
    runs: dict[str, Completed] = {}
    arrived: dict[str, datetime] = {}
    async with aclosing(transport.read(node, Batch.of(list(asked), Sampling(1)), NODE_SECONDS)) as arriving:
        async for run in arriving:
            runs[run.probe], arrived[run.probe] = run, now()
    return runs, arrived


def _files_found(runs: Mapping[str, Completed]) -> frozenset[str]:
    run = runs.get("there")  # the root of the file system is always there: without it ls did not answer
    found = frozenset(run.stdout.splitlines()) if run is not None and not run.cut else frozenset()
    return found if "/" in found else frozenset()


def _stdout_of(runs: Mapping[str, Completed], name: str) -> str:
    run = runs.get(name)
    return run.stdout.strip() if run is not None and run.exit_status == 0 else ""


def _clock_finding(node: Node, runs: Mapping[str, Completed], arrived: datetime) -> DoctorFinding:
    name, answer = f"clock of {node.name}", _stdout_of(runs, "time")
    if not (answer.isascii() and answer.isdigit() and len(answer) < 12):
        return DoctorFinding(name, Mark.NOTE, "it does not say what time it is")
    skew = abs((arrived - datetime.fromtimestamp(int(answer), UTC)).total_seconds())
    seen = f"{skew:,.0f} s from this machine's"
    if skew > SKEW_NOTED:
        mark = Mark.WRONG if skew > SKEW_WRONG else Mark.NOTE
        return DoctorFinding(name, mark, seen, "Let chrony or systemd-timesyncd set it: times in its log are compared.")
    return DoctorFinding(name, Mark.OK, seen)


def _heat_finding(node: Node, runs: Mapping[str, Completed]) -> list[DoctorFinding]:
    """Say once that a machine counts no heat, which no card repeats; a virtual one never sees any."""
    run, there = runs.get("virtual"), _files_found(runs)
    if run is None or run.stdout.strip() != "none" or not there or _HEAT in there:
        return []
    seen = "it does not count how often heat slows its cores (AMD and ARM processors do not)"
    return [DoctorFinding(f"heat of {node.name}", Mark.NOTE, seen, "Watch its board: ipmitool sdr type temperature")]


def _rights_finding(
    name: str, user: str, runs: Mapping[str, Completed], rights: Sequence[Sequence[str]], lacking: Mark
) -> DoctorFinding:
    if user == "root":
        return DoctorFinding(name, Mark.NOTE, "the login is root", "Give the bot its own login: zombie sudoers")
    missing, unknown, known, there = [], 0, 0, _files_found(runs)
    for number, argv in enumerate(rights):
        if there and not all(file in there for file in files_needed(argv)):
            continue
        known += 1
        answer = runs.get(f"right {number}")
        if answer is not None and answer.exit_status == 127:
            return DoctorFinding(
                name, lacking, "sudo is not installed there", "Install it, then run node-setup.sh on the node again."
            )
        if answer is None or answer.exit_status in (None, 124, 137):
            unknown += 1
        elif answer.exit_status != 0:
            missing.append(" ".join(as_root(argv)))
    if unknown:
        return DoctorFinding(
            name, lacking, f"sudo does not say what {user} may run", "Is it slow, or does it ask a server?"
        )
    if missing:
        first = {line.partition(" ")[0].rpartition("/")[2]: line for line in reversed(missing)}
        # One command of each program first: eight devices of the same kind would hide all others.
        named = sorted(missing, key=lambda line: line not in first.values())[:_NAMED]
        more = f" and {len(missing) - len(named)} more" if len(missing) > len(named) else ""
        seen = f"{user} may not run as root: {', '.join(named)}{more}"
        return DoctorFinding(
            name, lacking, seen, "zombie sudoers prints the lines; without them this is not read, or not done"
        )
    return DoctorFinding(name, Mark.OK, f"{user} may run all {known} commands as root")
