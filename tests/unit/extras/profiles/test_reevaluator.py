"""A profile that changes a verdict withdraws the old offer and has the node read anew; any other leaves it alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from bot.domain.alert import BOT, Alert
from bot.domain.case import Case, CaseHeader
from bot.domain.command import Completed
from bot.domain.errors import LedgerUnavailable
from bot.domain.events import AlertCleared, AlertJoined, Approved, Cancelled, Declined, IncidentEvent, ProfileTaken
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.mute import Mute
from bot.domain.transitions import State
from bot.domain.verdict import Confidence, Verdict
from bot.extras.profiles.reevaluator import VerdictReevaluator
from bot.ledger import CaseStore, Database, Ledger
from bot.probes.profile import PROFILE, ProfileReading, profile_to_json
from bot.response.incident_record import IncidentRecord
from tests.record.incidents import APPROVER, BEGAN_AT, NODE, OPENING, PROPOSED, TRIAGED, VERDICT, by_whom

ID = "7k3m9x2qpv"
WALK = ProfileReading(39, "kubelet", 2114, "mem_cgroup_nr_lru_pages", 0.97, 490, 10.0, "memcg-walk")
TAKEN = ProfileTaken("Core 39 ran kubelet.", "cycles at 49 Hz for 10 s.", "", profile_to_json(WALK))
MUTED = (Mute("failed-units", NODE, BEGAN_AT, "known", APPROVER),)
LIKELY = replace(VERDICT, confidence=Confidence.LIKELY, muted=MUTED)


@dataclass
class Bench:
    """A ledger with one incident, what its node said, and a judge whom a profile may convince."""

    ledger: Ledger
    kept: CaseStore
    convinced: Verdict = VERDICT
    judged: list[tuple[tuple[str, ...], str]] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None
    lines: list[str] = field(default_factory=list)

    async def judge(self, case: Case, playbook: str) -> Verdict:
        assert case.muted == MUTED, "as when its verdict was recorded"
        self.judged.append((tuple(run.probe for run in case.runs), playbook))
        self.meanwhile()
        return self.convinced if any(run.probe == PROFILE.name for run in case.runs) else LIKELY

    def stands(self, *events: IncidentEvent) -> Incident:
        """Put an incident on record."""
        for seq, event in enumerate(events):
            self.ledger.append.now(ID, seq, event, by_whom(event))
        return self.now()

    def proposed(self) -> Incident:
        """An incident with a likely verdict, whose plan nobody has decided on, and its case."""
        case = Case(CaseHeader(NODE, BEGAN_AT), (Completed("cgroups", "cgroups", 0, "memory 4 68700 1"),))
        digest = self.kept.keep.now(ID, case)
        return self.stands(OPENING, replace(TRIAGED, verdict=LIKELY, case=digest), PROPOSED)

    def taken(self, incident: Incident, taken: ProfileTaken = TAKEN) -> Incident:
        """Put the profile on record, as the desk does."""
        self.ledger.append.now(ID, incident.seq, taken, APPROVER)
        return self.now()

    def now(self, name: str = ID) -> Incident:
        return fold(self.ledger.read.now(name))

    async def reevaluate_with_profile(
        self, incident: Incident, taken: ProfileTaken = TAKEN, around: Callable[[Any], Any] = lambda ledger: ledger
    ) -> str:
        ledger: Any = around(self.ledger)
        cases: Any = self.kept
        result = VerdictReevaluator(
            IncidentRecord(ledger), ledger, cases, self.judge, lambda event, **_: self.lines.append(event)
        )
        return await result.reevaluate_with_profile(incident, taken)

    def others(self) -> Sequence[str]:
        return [name for name in self.ledger.incident_ids_of_card.now(OPENING.group) if name != ID]


class Broken:
    """A ledger whose disk is full when a new incident is to be written."""

    def __init__(self, ledger: Any) -> None:
        self._ledger = ledger

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    async def append_together(self, *words: Any) -> None:
        raise LedgerUnavailable("The database is full.", "Make room.")


class Killed(BaseException):
    """As SIGKILL: nothing expects it."""


class Deadly:
    """A ledger around whose verbs the program is killed: at the boundary of that number."""

    def __init__(self, ledger: Any, at: int) -> None:
        self._ledger = ledger
        self._left = at

    def _boundary(self) -> None:
        if not self._left:
            raise Killed
        self._left -= 1

    def __getattr__(self, name: str) -> Any:
        async def verb(*words: Any) -> Any:
            self._boundary()
            answer = await getattr(self._ledger, name)(*words)
            self._boundary()
            return answer

        return verb


@pytest.fixture
def bench(sqlite: Database) -> Bench:
    return Bench(Ledger(sqlite), CaseStore(sqlite))


async def test_changed_verdict_withdraws_the_offer_and_has_the_node_read_anew(bench: Bench) -> None:
    said = await bench.reevaluate_with_profile(bench.taken(bench.proposed()), TAKEN)
    assert "likely, with a plan → leaked-memory-cgroups confirmed, with a plan" in said
    (name,) = bench.others()
    old, new = bench.now(), bench.now(name)
    assert old.state is State.CANCELLED
    assert isinstance(old.ending, Cancelled)
    assert name in old.ending.because
    assert "likely" in old.ending.because
    assert (new.state, new.node, new.card, new.playbook) == (State.OPENED, NODE, OPENING.group, "node-health")
    assert new.alert == old.alert, "it is the same person's wish"
    assert [entry.kind for entry in bench.ledger.read.now(name)] == ["AlertReceived", "ProfileTaken"]
    assert bench.judged == [(("cgroups",), "node-health"), (("cgroups", "profile"), "node-health")]


async def test_new_incident_has_the_other_alerts_of_the_old_and_what_is_over(bench: Bench) -> None:
    incident = bench.proposed()
    bench.ledger.append.now(ID, incident.seq, AlertJoined(Alert("pagerduty", "Q2")), BOT)
    bench.ledger.append.now(ID, incident.seq + 1, AlertCleared(incident.alert.kind, incident.alert.id), BOT)
    await bench.reevaluate_with_profile(bench.taken(bench.now()))
    old, new = bench.now(), bench.now(*bench.others())
    assert (new.alerts, new.cleared, new.is_over) == (old.alerts, old.cleared, False)


async def test_profile_that_changes_nothing_leaves_the_offer(bench: Bench) -> None:
    bench.convinced = LIKELY
    assert await bench.reevaluate_with_profile(bench.taken(bench.proposed())) == ""
    assert (bench.now().state, bench.others()) == (State.PROPOSED, [])


@pytest.mark.parametrize("decided", [Approved(PROPOSED.digest, "drained"), Declined("no", PROPOSED.digest, "ann")])
async def test_what_somebody_has_decided_is_left_to_them(bench: Bench, decided: IncidentEvent) -> None:
    incident = bench.taken(bench.proposed())
    bench.ledger.append.now(ID, incident.seq, decided, APPROVER)
    assert await bench.reevaluate_with_profile(incident) == ""
    assert bench.now().ending is None or isinstance(bench.now().ending, Declined)
    assert (bench.others(), bench.judged) == ([], [])


async def test_yes_that_comes_while_it_is_evaluated_wins(bench: Bench) -> None:
    incident = bench.taken(bench.proposed())

    def approved() -> None:
        bench.meanwhile = lambda: None
        bench.ledger.append.now(ID, incident.seq, Approved(PROPOSED.digest, "drained"), APPROVER)

    bench.meanwhile = approved
    assert await bench.reevaluate_with_profile(incident) == ""
    assert (bench.now().state, bench.others()) == (State.APPROVED, [])


async def test_verdict_without_a_plan_is_followed_by_a_new_one_and_nothing_is_withdrawn(bench: Bench) -> None:
    digest = bench.kept.keep.now(ID, Case(CaseHeader(NODE, BEGAN_AT), (Completed("cgroups", "cgroups", 0, "memory"),)))
    bench.stands(OPENING, replace(TRIAGED, verdict=replace(LIKELY, plan=None), case=digest))
    assert "read again" in await bench.reevaluate_with_profile(bench.taken(bench.now()))
    assert (bench.now().state, len(bench.others())) == (State.TRIAGED, 1)


async def test_two_profiles_of_one_moment_make_one_new_incident(bench: Bench) -> None:
    incident = bench.taken(bench.proposed())
    said = [await bench.reevaluate_with_profile(incident), await bench.reevaluate_with_profile(incident)]
    assert [bool(words) for words in said] == [True, False]
    assert len(bench.others()) == 1


async def test_offer_that_cannot_be_made_anew_stands_and_that_is_told(bench: Bench) -> None:
    said = await bench.reevaluate_with_profile(bench.taken(bench.proposed()), TAKEN, Broken)
    assert said.endswith("and that could not be written down: check the node again.")
    assert (bench.now().state, bench.others(), bench.lines) == (State.PROPOSED, [], ["profile_not_weighed"])


@pytest.mark.parametrize("at", range(6))
async def test_killed_at_any_point_the_card_has_its_offer_or_a_node_to_be_read(bench: Bench, at: int) -> None:
    incident = bench.taken(bench.proposed())
    try:
        await bench.reevaluate_with_profile(incident, TAKEN, lambda ledger: Deadly(ledger, at))
    except Killed:
        pass
    else:
        assert at > 3, "it is killed around each verb"
    stands = bench.now().state is State.PROPOSED
    opened = [bench.now(name).state for name in bench.others()]
    assert (stands, opened) in ((True, []), (False, [State.OPENED]))
    assert bool(await bench.reevaluate_with_profile(incident)) == stands, "asked again, it is carried through once"
    assert (bench.now().state, len(bench.others())) == (State.CANCELLED, 1)


async def test_what_joins_while_it_is_evaluated_takes_nothing_away(bench: Bench) -> None:
    incident = bench.taken(bench.proposed())

    def taken_again() -> None:
        bench.meanwhile = lambda: None
        bench.taken(bench.now())

    bench.meanwhile = taken_again
    assert "read again as incident" in await bench.reevaluate_with_profile(incident)
    assert (bench.now().state, len(bench.others())) == (State.CANCELLED, 1)


@pytest.mark.parametrize("reading", ["", profile_to_json(WALK)])
async def test_without_a_reading_or_without_what_the_node_said_nothing_is_evaluated(bench: Bench, reading: str) -> None:
    bench.stands(OPENING, replace(TRIAGED, verdict=LIKELY, case="ab" * 32), PROPOSED)
    taken = replace(TAKEN, reading=reading)
    assert await bench.reevaluate_with_profile(bench.taken(bench.now(), taken), taken) == ""
    assert (bench.now().state, bench.judged) == (State.PROPOSED, [])
    assert bench.lines == (["profile_not_weighed"] if reading else [])
