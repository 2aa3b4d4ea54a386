"""Proves a cause and its cure on a real kernel: well, made sick, the right verdict, a yes, the cure, well again."""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bot.domain.errors import UsageError
from bot.domain.safe_text import one_line
from bot.lab.fault import Outcome, find
from bot.lab.lab import Lab, LabRequest
from bot.lab.node import LabNode
from bot.lab.program import Program
from bot.lab.recipe import Recipe
from bot.lab.trial import MACHINES, TRIALS, Machine, Trial
from bot.lab.virtual_machine import Hardware
from bot.response.proven_cures import GONE, ProvenRow, ProvenTable

LOOKS = 16  # kept waiting, an emulated node may not say everything in time; a flood has gaps
_NOT_BEGUN = ("opened", "triaged", "proposed")
_STARVED = 0.25  # the share of its time for which an emulator may wait for a CPU before its deadlines mean nothing
# What the kernel said is gone for dmesg and for the journal; counters go on. It says one line anew (its help): a login
# that may not read dmesg cannot tell an empty journal from one that it may not read.
_FORGET = (
    "dmesg -C && journalctl -q --rotate && sleep 2 && journalctl -q --vacuum-time=1s && echo h >/proc/sysrq-trigger"
)
Say = Callable[[str], None]


class NotProven(Exception):
    """What was seen in place of what had to be seen. `row` is there where the verdict was right: the cure failed."""

    def __init__(self, says: str, row: ProvenRow | None = None) -> None:
        super().__init__(says)
        self.row = row


class NotSeen(NotProven):
    """The node did not say enough, or nothing was begun: neither for the cure nor against it."""


@dataclass(frozen=True, slots=True)
class Proving:
    """A trial on a machine, a cgroup version each."""

    trial: Trial
    machine: Machine
    cgroups: str

    @property
    def says(self) -> str:
        """What is proven, in a few words."""
        return f"{self.trial.fault} on {self.machine.suite}'s Linux {self.machine.kernel}, cgroup {self.cgroups}"

    @property
    def is_gone(self) -> bool:
        """True where what makes the fault elsewhere does no harm on this kernel."""
        return self.machine.suite in self.trial.gone_on

    @property
    def like(self) -> tuple[str, str, Hardware]:
        """The machine that it needs."""
        return self.machine.suite, self.cgroups, self.trial.hardware

    @property
    def key(self) -> tuple[str, str, str]:
        """Which fault on which machine, as in the table."""
        return self.trial.fault, self.machine.suite, self.cgroups

    def row_in(self, table: ProvenTable) -> ProvenRow | None:
        """Return its row, if there is one."""
        return next((row for row in table.rows if row.key == self.key), None)


def to_prove(kernels: Iterable[str] = (), causes: Iterable[str] = (), cgroups: str | None = None) -> Iterator[Proving]:
    """Yield what can be proven, a kernel after the other; a cause is named by itself or by its fault.

    Raises: UsageError for a kernel or a cause that is not there.
    """
    kernels, causes = set(kernels), set(causes)
    known = {machine.kernel for machine in MACHINES}
    named = {name for trial in TRIALS for name in (trial.fault, trial.cause)}
    for what, given, there in (("kernel", kernels, known), ("cause or fault", causes, named)):
        if given - there:
            raise UsageError(
                f"There is no {what} {min(given - there)!r} here.", f"There are: {', '.join(sorted(there))}"
            )
    for machine in MACHINES:
        if kernels and machine.kernel not in kernels:
            continue
        for version in machine.cgroups:
            for trial in TRIALS:
                proving, asked = Proving(trial, machine, version), not causes or causes & {trial.fault, trial.cause}
                wanted = asked and version in trial.cgroups and cgroups in (None, version)
                if wanted and (trial.done or not proving.is_gone):
                    yield proving


class Prover:
    """Boots the machines and goes through the trials; `program` returns the command line with a record of its own.

    Shape: a machine on which everything was found well again is used for the next trial that wants one like it: booting
    is half of a trial's time. `said` is the case of the last check that gave the right verdict, a file.
    """

    def __init__(
        self,
        lab: Lab,
        recipe: Callable[[str], Recipe],
        program: Callable[[Path], Program],
        folder: Path,
        version: str,
        today: str,
        say: Say,
    ) -> None:
        self._lab, self._recipe, self._program, self._folder = lab, recipe, program, folder
        self._version, self._today, self._say = version, today, say
        self._proven_on_it: Proving | None = None  # the last trial of the machine that runs; None: it may not be well
        self._records, self._up_at = 0, 0.0
        self.said = folder

    def prove(self, what: Proving, before: ProvenRow | None) -> ProvenRow:
        """Prove it, on a machine that boots or is well, and return the row.

        Raises: NotProven, also where the machine or this program did not answer in time.
        """
        try:
            return self._tried(what, before)
        except (UsageError, subprocess.TimeoutExpired) as no:
            raise NotSeen(str(no)) from no
        except NotProven:
            for node in self._lab.nodes:
                up = time.monotonic() - self._up_at
                waited = node.process.starved_seconds
                self._say(f"  the emulator waited {waited:.0f} of {up:.0f} s for a CPU of this machine")
            raise

    def _tried(self, what: Proving, before: ProvenRow | None) -> ProvenRow:
        began = time.monotonic()
        node, program = self._well_machine(what)
        row = self._row(node, what)
        runs, healed = (before.runs, before.healed) if before is not None else (0, 0)
        row = replace(row, runs=runs + 1, healed=healed + 1)
        try:
            prove = self._not_there if what.is_gone else self._proven
            trial = replace(what.trial, confidence=what.trial.confidence_on(what.machine.suite))
            row = prove(program, node, trial, row)
            self._proven_on_it = what
        except NotProven as no:
            if not no.row:
                raise
            self._say(f"  NOT healed: {no}")
            row = replace(no.row, healed=healed)
        return replace(row, seconds=round(time.monotonic() - began))

    def stop(self) -> None:
        """Stop the machine that runs, if one does."""
        self._proven_on_it = None
        if self._lab.nodes:
            self._lab.down()

    def _well_machine(self, what: Proving) -> tuple[LabNode, Program]:
        """Return a machine that was found well: the one that runs, if it is like what is wanted, else a new one."""
        self._records += 1
        record = self._folder / f"record-{self._records}.db"
        earlier, self._proven_on_it = self._proven_on_it, None
        if earlier is not None and earlier.like == what.like:
            node, program = self._lab.nodes[0], self._program(record)
            if self._is_well_after(earlier.trial, program, node):
                return node, program
        self.stop()
        self._up_at = time.monotonic()
        request = LabRequest(1, what.cgroups, hardware=what.trial.hardware)
        node = self._lab.up(self._recipe(what.machine.suite), request)[0]
        program = self._program(record)
        self._is_well(program, node, "without the fault", LOOKS)
        return node, program

    def _is_well_after(self, trial: Trial, program: Program, node: LabNode) -> bool:
        """Take away what a proven trial leaves, a unit or what the log still tells of, and say whether all is well."""
        try:
            if trial.plan:
                _must(find(trial.fault).undo(node), "the fault's undo")
            if trial.plan or trial.lingers:
                _must(_ran(node, _FORGET), "the log's end")
                self._is_well(program, node, "with its log cleared", 2)
        except (NotProven, UsageError, subprocess.TimeoutExpired) as no:
            self._say(f"  {no}")
            return False
        return True

    def _row(self, node: LabNode, what: Proving) -> ProvenRow:
        said = node.run("uname -r; systemctl --version").stdout.split("\n")
        systemd = re.search(r"\d+", said[1])
        if systemd is None:
            raise UsageError(f"{node.name} does not tell its systemd.", f"Its console: {node.console}")
        trial = what.trial
        cure, status = ((), GONE) if what.is_gone else (trial.plan, trial.status[0])
        place = (what.machine.suite, said[0], int(systemd[0]), what.cgroups)
        self._say(f"  Linux {said[0]}, systemd {systemd[0]}")
        made = (trial.cause, trial.fault, cure, status, "")
        return ProvenRow(*made, *place, 0, 0, False, 0, self._today, self._version)

    def _proven(self, program: Program, node: LabNode, trial: Trial, row: ProvenRow) -> ProvenRow:
        self._made(node, trial)
        verdict = self._named(program, node, trial)
        row = replace(row, status=verdict["status"], harm=one_line(verdict["summary"], 300))
        try:
            if not trial.plan:
                _must(find(trial.fault).undo(node), "the fault's undo")
                self._is_over(program, node, trial)
                return row
            incident = str(verdict["incident"])
            row = replace(row, harm=_harm(program.incident(incident)) or row.harm)
            self._act(program, node, incident, "the cure")
            self._is_over(program, node, trial)
            if trial.undone:
                self._undo(program, node, incident, trial)
            return replace(row, undone=bool(trial.undone))
        except NotSeen:
            raise
        except NotProven as no:
            raise NotProven(str(no), row) from no

    def _not_there(self, program: Program, node: LabNode, trial: Trial, row: ProvenRow) -> ProvenRow:
        fault = find(trial.fault)
        if trial.before:
            _must(_ran(node, trial.before), "what comes before the fault")
        _must(fault.begin(node), "the fault's beginning")
        _must(_ran(node, trial.done), "what makes the fault elsewhere")
        measured = fault.look(node)
        self._say(f"  as much was done as makes the fault elsewhere: {measured.says}")
        for verdict in self._verdicts("the verdict", LOOKS, program, node, "--playbook", trial.playbook):
            if measured.proven or verdict["cause"] == trial.cause:
                break
            if verdict["status"] not in ("unknown", "unreachable"):
                return replace(row, harm=measured.says)
        raise NotProven(f"the fault or its verdict is there, or not everything was read: {_short(verdict)}")

    def _verdicts(self, when: str, looks: int, program: Program, node: LabNode, *more: str) -> Iterator[dict[str, Any]]:
        """Check the node so often, and tell each verdict as it comes."""
        for _ in range(looks):
            verdict = program.check(node.name, *more)
            self._say(f"  {when}: {_short(verdict)}")
            yield verdict

    def _is_well(self, program: Program, node: LabNode, when: str, looks: int) -> None:
        for verdict in self._verdicts(when, looks, program, node):
            if (verdict["status"], verdict["cause"]) == ("healthy", None) and not verdict["unread"]:
                return
            if verdict["cause"] is not None:
                break
        raise NotProven(f"{when} the node is not found healthy, with everything read: {_short(verdict)}")

    def _made(self, node: LabNode, trial: Trial) -> None:
        if trial.before:
            _must(_ran(node, trial.before), "what comes before the fault")
        made = find(trial.fault).make(node)
        _must(made, "the fault")
        self._say(f"  made: {made.says}")
        if trial.until:
            _must(_ran(node, trial.until), "the fault's coming to harm")

    def _named(self, program: Program, node: LabNode, trial: Trial) -> dict[str, Any]:
        """Return the right verdict, with an incident where it has a plan. Until then no other cause may be named."""
        verdict = _right(trial, lambda: self._recorded(program, node, trial))
        if not trial.plan:
            return verdict

        def opened() -> dict[str, Any]:
            again = program.check(node.name, "--open", "--playbook", trial.playbook)
            self._say(f"  again, on record: {_short(again)}")
            if again["plan"] and (state := program.incident(again["incident"])["state"]) != "proposed":
                self._say(f"  nothing is proposed: {state}")  # the node did not say which machine it is
                return {**again, "plan": None}
            return again

        return {**verdict, "incident": _right(trial, opened)["incident"]}

    def _recorded(self, program: Program, node: LabNode, trial: Trial) -> dict[str, Any]:
        """Return a verdict, and keep what the node said."""
        folder = tempfile.mkdtemp(dir=self._folder)
        verdict = program.check(node.name, "--record", folder, "--playbook", trial.playbook)
        self.said = Path(folder) / f"{node.name}.jsonl"
        self._say(f"  with the fault: {_short(verdict)}")
        return verdict

    def _act(self, program: Program, node: LabNode, incident: str, what: str) -> None:
        began, starved = time.monotonic(), node.process.starved_seconds
        done = program.run(*program.approving(incident), within_seconds=1500)
        took, starved = time.monotonic() - began, node.process.starved_seconds - starved
        state = program.incident(incident)["state"]
        self._say(f"  {what}: {state}")
        if done.returncode or state != "resolved":
            # A command that a machine without a CPU took too late was not run, and no deadline is fair to it.
            unfair = state in _NOT_BEGUN or starved > _STARVED * took
            raise (NotSeen if unfair else NotProven)(f"{what} ended as {state}: {_said(done)}")

    def _is_over(self, program: Program, node: LabNode, trial: Trial) -> None:
        """The readings say that it is over; what the kernel's log still reports is at most degraded, without a plan."""
        for verdict in self._verdicts("afterwards", LOOKS, program, node, "--playbook", trial.playbook):
            if (verdict["status"], verdict["cause"]) == ("healthy", None):
                return
            mild = verdict["status"] in ("healthy", "degraded") and verdict["plan"] is None
            if trial.lingers and mild and verdict["cause"] in (None, trial.cause):
                return
        is_unseen = verdict["status"] in ("unknown", "unreachable")
        raise (NotSeen if is_unseen else NotProven)(f"afterwards: {_short(verdict)}")

    def _undo(self, program: Program, node: LabNode, incident: str, trial: Trial) -> None:
        asked = program.run(
            "undo", incident, "--config", str(program.settings), "--as", "bob", "--reason", "to prove it"
        )
        found = re.search(r"^Incident (\S+):", asked.stdout, re.MULTILINE)
        if asked.returncode or found is None:
            raise NotProven(f"the undo was refused: {_said(asked)}")
        self._act(program, node, found[1], "the undo")
        if not node.run(trial.undone).ok:
            raise NotProven(f"the undo is not seen on the node: {trial.undone}")


def _right(trial: Trial, check: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Check until the verdict is the trial's. Raises: NotProven, at once where another cause is named."""
    seen = ""
    for _ in range(LOOKS):
        verdict = check()
        seen = _short(verdict)
        plan = tuple(step["action"] for step in (verdict["plan"] or {}).get("steps", ()))
        judged = (verdict["cause"], verdict["confidence"], plan)
        if judged == (trial.cause, trial.confidence, trial.plan) and verdict["status"] in trial.status:
            return verdict
        if verdict["cause"] not in (None, trial.cause):
            break
    wanted = f"{' or '.join(trial.status)}, {trial.cause} ({trial.confidence}), {list(trial.plan) or 'no plan'}"
    raise NotProven(f"wanted: {wanted}; got: {seen}")


def _must(outcome: Outcome, what: str) -> None:
    if not outcome.proven:
        raise NotProven(f"{what} was not seen: {outcome.says}")


def _said(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stdout + done.stderr).strip()[-1500:]


def _ran(node: LabNode, script: str) -> Outcome:
    answer = node.run(script, within_seconds=1200)
    return Outcome(answer.ok, (answer.stderr or answer.stdout).strip()[-300:])


def _harm(incident: dict[str, Any]) -> str:
    judged = next(entry["body"]["verdict"] for entry in incident["entries"] if entry["kind"] == "Triaged")
    return one_line(judged.get("harm") or "", 300)


def _short(verdict: dict[str, Any]) -> str:
    plan = [step["action"] for step in (verdict["plan"] or {}).get("steps", ())]
    named = f", {verdict['cause']} ({verdict['confidence']})" if verdict["cause"] else ""
    unread = f", unread: {', '.join(each['probe'] for each in verdict['unread'])}" if verdict["unread"] else ""
    planned = f", plan {' then '.join(plan)}" if plan else ""
    said = one_line(verdict["summary"], 200)
    return f"{verdict['status']}{named}{planned}{unread} [{verdict['took_seconds']:.0f} s]: {said}"
