"""A whole node and what may be said of it, asked through the real parsers and the shipped playbook."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any

from bot.actions import ACTIONS
from bot.app.cases import run_alone
from bot.domain.case import Case
from bot.domain.command import Completed, Outputs
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.verdict import Confidence, Verdict
from bot.response.diagnosis.triage import Triage
from bot.transport.replay import ReplayTransport
from tests.independent.machine import Machine
from tests.shipped import shipped

LEAK, LOOP, STOPPED, FAILED = "leaked-memory-cgroups", "crash-looping-unit", "essential-unit-stopped", "failed-units"
NODE = Node("node", "localhost")
CURE = "disable mask drain reboot uncordon"
BY_HAND = ("power cycle", "drain ", "fsck", "replace the", "detach", "its work ends first")
ACTS = {"reboot", "disable_unit", "mask_unit", "start_unit", "drop_caches"}
OFF: dict[str, Any] = {"ActiveState": "failed", "SubState": "failed", "Result": "exit-code"}


@dataclass(frozen=True)
class Asked:
    """A node and what may be said of it.

    Shape: `status` and `cause` name all that is right, divided by blanks; `-` is no cause. `plan`: the actions that the
    readings justify. `needs`: those that must be offered. `steps`: all that is offered, each with its unit, in place of
    both. `says`: words that the summary must have, divided by ` … `. `shows`, `lacks`: what summary, evidence and its
    lines must say, and must not. `sure`: whether it may be told as confirmed. `playbook`: the one that is asked.
    """

    title: str
    machine: Machine
    status: str
    cause: str = "-"
    plan: str = ""
    sure: bool = True
    systemd: bool = True
    needs: str = ""
    steps: str = ""
    says: str = ""
    shows: str = ""
    lacks: str = ""
    playbook: str = "node-health"


@cache
def judged(asked: Asked) -> Verdict:
    case = asked.machine.case()
    if not asked.systemd:
        case = without_systemd(case)
    return evaluated(case, asked.playbook)


def evaluated(case: Case, playbook: str = "node-health") -> Verdict:
    """Return the verdict of a playbook on a node that said this."""
    return run_alone(_triage(case).diagnose(NODE, _reads_once(playbook)))


@cache
def _reads_once(playbook: str) -> Playbook:
    """Return a shipped playbook that reads an answer once: parsers are pure, and most nodes answer the same."""
    whole = shipped().get(playbook)
    return replace(whole, probes=tuple(replace(probe, parse=_once(probe.parse)) for probe in whole.probes))


def _once(parse: Callable[[Outputs], Any]) -> Callable[[Outputs], Any]:
    kept = lru_cache(maxsize=256)(lambda runs: parse(Outputs(*runs)))

    def read(outputs: Outputs) -> Any:
        runs: tuple[Completed, ...] = tuple(outputs._runs.values())
        return kept(runs)

    return read


def evaluated_again(case: Case, verdict: Verdict, changed: str) -> Verdict:
    """Return the verdict on a case that is another's but for what one probe's commands said: only they are read."""
    playbook = shipped().get("node-health")
    probe = next((each for each in playbook.probes if each.name == changed), None)
    if probe is None:  # the playbook does not ask it
        return verdict
    said = [run for run in case.runs if run.probe == changed]
    assert verdict.snapshot is not None
    readings = {**verdict.snapshot.readings, changed: probe.read(Outputs(*probe.told, *said))}
    return run_alone(_triage(case).judged(NODE, playbook, replace(verdict.snapshot, readings=readings)))


def _triage(case: Case) -> Triage:
    return Triage(ReplayTransport(case), ACTIONS, lambda: datetime(2026, 11, 21, 12, 14, tzinfo=UTC))


def without_systemd(case: Case) -> Case:
    """Return what a machine under OpenRC or a BusyBox init prints: each fragment asks for systemd's folder first."""
    lacks = {("units", "show"), ("essential_units", "look"), ("agents", "units")}
    said = "no /run/systemd/system\n"
    return replace(
        case, runs=tuple(replace(run, stdout=said) if (run.probe, run.name) in lacks else run for run in case.runs)
    )


def check(asked: Asked) -> Verdict:
    """Hold a node's verdict to what may be said of it, and return it."""
    verdict = judged(asked)
    assert verdict.status.value in asked.status.split(), (verdict.status, verdict.cause, verdict.summary)
    assert (verdict.cause or "-") in asked.cause.split(), verdict.summary
    plan = verdict.plan.steps if verdict.plan else ()
    if asked.steps:
        assert ", ".join(" ".join([step.action, *step.args.values()]) for step in plan) == asked.steps, verdict.summary
    else:
        steps, needs = {step.action.split("_")[0] for step in plan}, set(asked.needs.split())
        assert steps <= needs.union(asked.plan.split()), (steps, verdict.summary)
        assert needs <= steps, (steps, verdict.summary, verdict.try_next)
    assert all(words in verdict.summary for words in asked.says.split(" … ")), verdict.summary
    told = "\n".join([verdict.summary, *(line for item in verdict.evidence for line in (item.says, *item.source))])
    assert asked.shows in told, told
    assert not asked.lacks or asked.lacks not in told, told
    assert asked.sure or verdict.confidence is not Confidence.CONFIRMED, verdict.summary
    return verdict


def shown(machine: Machine, name: str, **told: object) -> Machine:
    """Let systemd say something else of a service, at both looks."""
    for units in (machine.facts.units, machine.facts.units_later):
        units[name] = units[name] | told
    return machine


def scheduled(machine: Machine, name: str, newest: float, every: float, count: int, before: int = 0) -> Machine:
    """Let the journal hold that many restarts of a service."""
    machine.facts.restarts += [
        (newest + every * n, f"systemd[1]: {name}: Scheduled restart job, restart counter is at {before + count - n}.")
        for n in reversed(range(count))
    ]
    return machine


def uncounted(machine: Machine, name: str) -> Machine:
    """Let systemd be one that does not count restarts: NRestarts came with 235 (NEWS)."""
    for units in (machine.facts.units, machine.facts.units_later):
        units[name] = {key: value for key, value in units[name].items() if key != "NRestarts"}
    return machine


def hold_to_their_advice(verdicts: Iterable[tuple[str, Verdict]], advised: int, acted: int) -> None:
    """Hold plans to the words beside them, where more than so many advise and so many act.

    Where the words ask for a person's hands, the plan only keeps work away; and a reboot it refuses is not in it.
    """
    wrong, by_people, act = [], 0, 0
    for title, verdict in verdicts:
        steps = {step.action for step in (verdict.plan.steps if verdict.plan else verdict.remedy)}
        advice = f"{verdict.lasting_fix} {verdict.summary}".lower()
        by_hand = [words for words in BY_HAND if words in advice]
        by_people, act = by_people + bool(by_hand), act + bool(steps & ACTS)
        if by_hand and steps & ACTS and "drain" not in steps:
            wrong.append((title, by_hand, steps))
        if "no reboot is offered" in advice and "reboot" in steps:
            wrong.append((title, ["no reboot is offered"], steps))
    assert wrong == []
    assert by_people > advised, "nodes whose advice is for people"
    assert act > acted, "nodes whose plan acts"
