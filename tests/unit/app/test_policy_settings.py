"""What the policy in force means is said at the start, and is on record where it is another than before."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.app.policy_settings import note_policy, policy_as_written
from bot.domain.errors import LedgerUnavailable
from bot.domain.house_events import HOUSE, BrakePulled, PolicyChanged
from bot.domain.policy import Policy
from bot.ledger import Ledger
from bot.settings import Settings
from bot.sources import settings_of

UNITS = frozenset({"ecs.service"})


@pytest.mark.parametrize(
    ("policy", "event", "says"),
    [
        (Policy(), "acting_off", "nobody may approve"),
        (Policy(acting=False, approvers=frozenset({"slack:U1"}), units=UNITS), "acting_off", "acting is off"),
        (Policy(acting=True, approvers=frozenset({"slack:U1"})), "acting_off", "names no unit"),
        (Policy(acting=True, approvers=frozenset({"slack:U1"}), units=UNITS), "acting_on", "ecs.service"),
    ],
)
async def test_start_says_whether_anybody_may_approve(ledger: Ledger, policy: Policy, event: str, says: str) -> None:
    lines: list[tuple[str, dict[str, Any]]] = []
    await note_policy(policy, ledger, lambda event, **fields: lines.append((event, fields)))
    assert lines[0][0] == event
    assert says in str(lines[0][1])


async def test_another_policy_than_before_is_put_on_record_once(ledger: Ledger) -> None:
    first, second = Policy(), Policy(acting=True, approvers=frozenset({"slack:U1"}), units=UNITS)
    for policy in (first, first, second, second, first):
        await note_policy(policy, ledger, lambda *_, **__: None)
        await ledger.append(HOUSE, None, BrakePulled("in between"), "terminal:ann")
    told = [entry.event for entry in await ledger.read(HOUSE) if entry.kind == "PolicyChanged"]
    assert told == [PolicyChanged(one.digest, one.text) for one in (first, second, first)]


async def test_ledger_that_is_gone_keeps_nobody_from_starting() -> None:
    class Gone:
        async def policy(self) -> None:
            raise LedgerUnavailable("The database is locked.")

    lines: list[str] = []
    await note_policy(Policy(), Gone(), lambda event, **_: lines.append(event))  # type: ignore[arg-type]
    assert lines == ["acting_off", "ledger_unavailable"]


RULES = """
[policy]
approvers = ["U2", "U1"]
approver_groups = ["S1"]
terminal_approvers = ["ann=U1", "bob"]
approval_expires = "5m"
quiet = ["22:00-06:00"]
[act]
units = ["ecs.service"]
per_label = { az = 1 }
percent = 10
validation = "90s"
"""


def rules(folder: Path, toml: str, nodes: int = 0) -> Policy:
    (folder / "zombie.toml").write_text(toml)
    return policy_as_written(Settings.load({}, {}, folder, members=settings_of()), nodes)


def test_policy_is_what_the_settings_say(tmp_path: Path) -> None:
    policy = rules(tmp_path, RULES, 40)
    assert policy.acting, "whoever names an approver wants to act"
    assert policy.approvers == {"slack:U1", "slack:U2", "terminal:ann", "terminal:bob"}
    assert policy.approver_groups == {"slack:S1"}
    assert policy.same_person == {"terminal:ann": "slack:U1"}
    assert (policy.approval_expires, policy.validation) == (timedelta(minutes=5), timedelta(seconds=90))
    assert (policy.limits.most_at_once, policy.limits.per_label, policy.quiet) == (1, {"az": 1}, ((1320, 360),))


@pytest.mark.parametrize("toml", ["", "[policy]\n", '[policy]\nterminal_approvers = ["ann"]\nacting = false\n'])
def test_nobody_named_or_switched_off_is_off(tmp_path: Path, toml: str) -> None:
    assert not rules(tmp_path, toml).acting


def test_plan_proposed_by_an_older_program_is_under_the_same_policy_still(tmp_path: Path) -> None:
    assert rules(tmp_path, RULES, 40).digest == "de8f864960b9975964ed3792dc637fed1041e012b1de37008f757cfbf3401161"
