"""An invented probe, cause, action and kind of inventory: each is one value and one line, and the rest follows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

import pytest

from bot.actions import ACTIONS
from bot.app.factories import local_transport
from bot.causes import CAUSES
from bot.domain.action import Action, Facts, Proof, RemedyRules, Step
from bot.domain.batch import Sampling
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.command import Command, Outputs
from bot.domain.errors import InventoryError, PlaybookError
from bot.domain.node import Node
from bot.domain.probe import Probe, Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided, Verdict
from bot.inventory import KINDS, Inventory
from bot.inventory.inventory_file import InventoryFile
from bot.inventory.kind import InventoryKind, TableNodes
from bot.library import Library
from bot.probes import PROBES
from bot.response.diagnosis.planning import DrainSettings
from bot.response.diagnosis.triage import Triage
from bot.response.execution.sudoers import acting_sudoers_text, reading_sudoers_text, sudo_rights

# --- the probe


@dataclass(frozen=True, slots=True)
class EntropyReading:
    """How much chance the kernel has gathered."""

    probe: ClassVar[str] = "entropy"

    bits: int

    @property
    def is_low(self) -> bool:
        """True where it is not enough for a key."""
        return self.bits < 128

    def traits(self) -> Mapping[str, str]:
        """Return what the node is, for people."""
        return {"entropy": f"{self.bits} bits"}


def read_entropy(outputs: Outputs) -> EntropyReading:
    """Read the one figure."""
    return EntropyReading(int(outputs.text("bits")))


ENTROPY = Probe(
    name="entropy",
    title="entropy",
    commands=(Command("bits", ("echo", "40"), sudo=(("/usr/sbin/sysctl", "kernel.random"),)),),
    parse=read_entropy,
    reading=EntropyReading,
)

# --- the actions: one that settles at no time and is no reboot all the same, and one that is another way to reboot


def settled(args: Mapping[str, str], before: Facts, now: Facts) -> Proof:
    """Judge by the one fact."""
    return Proof.PROVEN if now["fed"] == "yes" else Proof.NOT_YET


FEED = Action(
    name="feed_entropy",
    title="Feed entropy",
    verb="feed entropy",
    impact="the kernel's pool of chance is filled",
    commands=lambda args, snapshot: ("sudo -n /usr/sbin/rngd --once",),
    rights=(("/usr/sbin/rngd", "--once"),),
    looks=lambda args: (Command("fed", ("echo", "yes")),),
    facts=lambda args, outputs: {"fed": outputs.text("fed").strip()},
    judge=settled,
    settles=False,
    remedy=RemedyRules(before_reboot="a boot empties the pool", only_where="it fills the pool of chance"),
)
CYCLE = Action(
    name="power_cycle",
    title="Power cycle",
    verb="power-cycle",
    impact="the node loses power",
    commands=lambda args, snapshot: ("sudo -n /usr/sbin/ipmitool power cycle",),
    rights=(("/usr/sbin/ipmitool", "power", "cycle"),),
    looks=FEED.looks,
    facts=FEED.facts,
    judge=FEED.judge,
    settles=False,
    reboots=True,
    remedy=RemedyRules(after_stopping="otherwise it comes back"),
)

# --- the cause


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    """Evaluate the one figure."""
    entropy = snapshot.get(EntropyReading)
    if isinstance(entropy, Unread):
        return Undecided("entropy-starved", entropy.reason)
    if entropy.bits >= tuning["low_bits"]:
        return RuledOut("entropy-starved", f"{entropy.bits} bits are enough")
    seen = Evidence("low-entropy", "entropy", f"{entropy.bits} bits of entropy", (str(entropy.bits),))
    remedy = (Step(FEED.name), Step(CYCLE.name))
    return Finding("entropy-starved", Status.CRITICAL, Confidence.CONFIRMED, "Chance ran out.", (seen,), remedy=remedy)


STARVED = Cause(
    name="entropy-starved",
    title="Starved of entropy",
    probes=("entropy",),
    thresholds={"low_bits": Threshold(64, "ours")},
    evaluate=evaluate,
    cured_alone_by=(CYCLE.name,),
    eased_by=(FEED.name,),
    remedy=(FEED.name,),
    lasting_fix="Buy chance.",
)

# --- the kind of inventory


def load_rack(file: InventoryFile) -> TableNodes:
    """Return as many nodes as the table says."""
    table = file.top.table("rack")
    count = (table.integer("size", 1, 9) or 0) if table is not None else 0
    return TableNodes(tuple(Node(f"rack-{number}", f"10.0.0.{number}") for number in range(1, count + 1)))


RACK = InventoryKind(table="rack", title="in the rack", load=load_rack)

# --- one line each

ALL_PROBES = PROBES | {ENTROPY.name: ENTROPY}
ALL_CAUSES = CAUSES | {STARVED.name: STARVED}
ALL_ACTIONS = ACTIONS | {FEED.name: FEED, CYCLE.name: CYCLE}
ALL_KINDS = (*KINDS, RACK)

PLAYBOOK = """\
name: chance
title: Chance
version: 1
probes: [entropy]
must_read: [entropy]
causes:
  entropy-starved:
    remedy: [feed_entropy, power_cycle]
    lasting_fix: Load virtio-rng.
    thresholds:
      low_bits: {value: 128, reason: a key takes as many}
conditions:
  - {name: low, when: entropy.is_low and entropy.bits < 64, says: Very low., status: degraded}
"""
IN_CLUSTER = Node("here", "localhost", labels={"kubernetes_node": "here"})


def library(folder: Path, text: str = PLAYBOOK) -> Library:
    (folder / "chance.yaml").write_text(text)
    return Library.load([folder], ALL_PROBES, ALL_CAUSES, ALL_ACTIONS)


async def verdict(folder: Path, text: str = PLAYBOOK) -> Verdict:
    triage = Triage(
        local_transport(), ALL_ACTIONS, lambda: datetime.now(UTC), Sampling(1), draining=DrainSettings("", "prod")
    )
    return await triage.diagnose(IN_CLUSTER, library(folder, text).get("chance"))


async def test_node_is_judged_by_them_and_the_plan_is_theirs(tmp_path: Path) -> None:
    found = await verdict(tmp_path)
    assert (found.status, found.cause, found.lasting_fix) == (Status.CRITICAL, STARVED.name, "Load virtio-rng.")
    assert found.plan is not None
    assert [step.action for step in found.plan.steps] == ["feed_entropy", "drain", "power_cycle", "uncordon"]
    assert found.plan.steps[0].commands == ("sudo -n /usr/sbin/rngd --once",)
    assert {one.finding for one in found.evidence} >= {"low-entropy"}


async def test_action_that_never_settles_is_not_taken_for_a_reboot(tmp_path: Path) -> None:
    found = await verdict(tmp_path, PLAYBOOK.replace("[feed_entropy, power_cycle]", "[feed_entropy]"))
    assert found.plan is not None
    assert [step.action for step in found.plan.steps] == ["feed_entropy"], "nothing is drained for it"
    assert not FEED.reboots


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("[feed_entropy, power_cycle]", "[power_cycle, feed_entropy]", "feed_entropy comes before reboot: a boot empt"),
        ("[feed_entropy, power_cycle]", "[feed_entropie]", "Did you mean feed_entropy"),
        ("entropy.bits < 64", "entropy.bit < 64", 'entropy has no field "bit". Did you mean bits'),
        ("low_bits:", "low_bit:", 'unknown threshold "low_bit" in entropy-starved. Did you mean low_bits'),
    ],
)
def test_slip_in_a_playbook_is_told_in_their_names(tmp_path: Path, before: str, after: str, says: str) -> None:
    with pytest.raises(PlaybookError) as refused:
        library(tmp_path, PLAYBOOK.replace(before, after))
    assert says in str(refused.value)


def test_their_rules_hold_for_every_cause(tmp_path: Path) -> None:
    text = PLAYBOOK.replace("probes: [entropy]", "probes: [entropy, conntrack]").replace("entropy-starved", "other")
    other = Cause("other", "Other", ("entropy",), {"low_bits": Threshold(64, "ours")}, evaluate)
    causes = ALL_CAUSES | {"other": other}
    for remedy, says in (
        ("[feed_entropy]", "it helps only entropy-starved"),
        (
            "[power_cycle]",
            "a reboot needs disable_unit or mask_unit before it: otherwise it comes back (alone",
        ),
    ):
        (tmp_path / "chance.yaml").write_text(text.replace("[feed_entropy, power_cycle]", remedy))
        with pytest.raises(PlaybookError) as refused:
            Library.load([tmp_path], ALL_PROBES, causes, ALL_ACTIONS)
        assert says in str(refused.value)


def test_editors_are_told_their_names(tmp_path: Path) -> None:
    schema = json.dumps(library(tmp_path).json_schema())
    assert all(f'"{name}"' in schema for name in ("entropy", "entropy-starved", "feed_entropy", "power_cycle"))


def test_their_words_are_said_by_themselves() -> None:
    assert (FEED.title_of({}), FEED.words({})) == ("Feed entropy", "feed entropy")
    assert FEED.impact_of({}) == "the kernel's pool of chance is filled"
    for action in ACTIONS.values():
        args = {name: name.upper() for name in (*action.targets, "verbs", "within")}
        assert action.words(args) == " ".join([action.verb, *(name.upper() for name in action.targets)])
        assert "?" not in action.impact_of(args)
        assert "{" not in action.title_of(args) + action.impact_of({})


def test_their_rights_are_among_the_sudoers_lines(tmp_path: Path) -> None:
    offered = {name for used in library(tmp_path).get("chance").causes for name in used.remedy}
    text = acting_sudoers_text("zombie", sudo_rights(ALL_ACTIONS.values(), ["a.service"], offered))
    assert "zombie ALL=(root) NOPASSWD: /usr/sbin/rngd --once\n" in text
    assert "zombie ALL=(root) NOPASSWD: /usr/sbin/ipmitool power cycle\n" in text
    assert "zombie ALL=(root) NOPASSWD: /usr/bin/systemctl mask --now -- a.service\n" in text
    assert "/usr/bin/systemctl reboot" not in text, "no playbook here offers it"
    assert "kernel.random" in reading_sudoers_text("zombie", [ENTROPY])


def test_nodes_of_an_invented_kind_are_known_beside_the_others(tmp_path: Path) -> None:
    path = tmp_path / "inventory.toml"
    path.write_text('[rack]\nsize = 2\n[nodes.a]\naddress = "10.1.1.1"\n')
    known = Inventory.load(path, tmp_path, ALL_KINDS)
    assert known.names == ("a", "rack-1", "rack-2")
    assert known.find("rack-2").address == "10.0.0.2"
    assert known.says == "3 nodes (1 written out in [nodes], 2 in the rack)"
    path.write_text("[rack]\nsize = 20\n[racks]\n")
    with pytest.raises(InventoryError) as refused:
        Inventory.load(path, tmp_path, ALL_KINDS)
    assert "inventory.toml:2: rack.size" in str(refused.value)
    assert 'unknown key "racks". Did you mean rack?' in str(refused.value)
    path.write_text("[rack]\nsize = 2\n")
    with pytest.raises(InventoryError, match='unknown key "rack"'):
        Inventory.load(path, tmp_path)
