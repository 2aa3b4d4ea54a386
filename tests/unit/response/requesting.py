"""People on a stage: who they are, what they wish, what becomes of it, and what stands on record then."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from bot.domain.alert import BOT
from bot.domain.claim import Claim, Doubts
from bot.domain.contracts import AdvanceLater
from bot.domain.errors import Refused
from bot.domain.events import Approved, IncidentEvent, PlanProposed, StepStarted
from bot.domain.fold import fold
from bot.domain.house_events import HOUSE, BrakePulled, BrakeReleased
from bot.domain.incident import Incident
from bot.domain.policy import Approval
from bot.ledger import Ledger
from bot.response.execution.remediation import Remediation
from tests.known import known, known_as
from tests.schedules.stage import Stage
from tests.unit.response.conftest import Quiet

ANN, BOB = Approval("terminal:ann", "it leaks"), Approval("terminal:bob", "it leaks")
ASKER, STRANGER = Approval("terminal:asker", "not now"), Approval("terminal:eve", "why not")
MINUTE = timedelta(minutes=1)


def do(stage: Stage, work: Any) -> Any:
    return known_as(stage.world, Quiet).do(work)


def refused(stage: Stage, work: Any) -> Refused:
    """The refusal that a wish ends with."""
    return known_as(do(stage, work), Refused)


def allowed(stage: Stage, work: Any) -> Incident:
    """The incident as a wish that nothing speaks against leaves it."""
    return known_as(do(stage, work), Incident)


def refusals(stage: Stage) -> list[tuple[str, str]]:
    entries = [entry for entry in stage.ledger.read.now(HOUSE) if entry.kind == "WishRefused"]
    return [(str(entry.body["wish"]), str(entry.body["refusal"])) for entry in entries]


def incident(stage: Stage, name: str = "one") -> Incident:
    return fold(stage.ledger.read.now(name))


def proposal(stage: Stage, name: str = "one") -> PlanProposed:
    return known(incident(stage, name).proposal)


def kinds(stage: Stage, name: str = "one") -> list[str]:
    return [entry.kind for entry in stage.ledger.read.now(name)]


def happens(stage: Stage, event: IncidentEvent, name: str = "one", by: str = BOT) -> None:
    """Put it on record as what comes next."""
    stage.ledger.append.now(name, stage.ledger.head.now(name).seq, event, by)


def approve(stage: Stage, name: str = "one", by: str = "terminal:ann", reason: str = "it leaks") -> None:
    happens(stage, Approved(proposal(stage, name).digest, reason), name, by)


def begin(stage: Stage, runner: str = "died", name: str = "one") -> None:
    """Have the first step begun by a program that is not heard of again."""
    started = StepStarted(1, 1, stage.nodes["n1"].boot_id, (), runner)
    claim = Claim("n1", proposal(stage, name).plan.remedy, runner)
    stage.ledger.begin.now(name, stage.ledger.head.now(name).seq, started, BOT, claim)


def doubted(stage: Stage) -> list[str]:
    """Have the stage's ledger doubt every cause while this list holds a reason."""
    reasons: list[str] = []

    def doubts(_: object) -> Doubts:
        return lambda policy, cause: f"{cause} {reasons[0]}" if reasons and policy == stage.policy else ""

    stage.recorder.store = stage.ledger = Ledger(stage.ledger.database, lambda: stage.world.now, doubters=[doubts])
    return reasons


def pull(stage: Stage, by: str = "terminal:bob") -> None:
    stage.ledger.append.now(HOUSE, None, BrakePulled("a rollout"), by)


def release(stage: Stage) -> None:
    stage.ledger.append.now(HOUSE, None, BrakeReleased("it is over"), "terminal:ann")


def carried_on(stage: Stage, name: str = "one", by: Remediation | None = None) -> Iterator[AdvanceLater]:
    """Let one program carry it on, and yield what it says after each advance; time passes between them."""
    remediation = by or stage.remediation()
    for _ in range(2000):
        again = do(stage, remediation.advance(name))
        if again is None:
            return
        yield again
        stage.world.now += max(timedelta(milliseconds=10), again.after)
    raise AssertionError(f"it never ends: {incident(stage, name).state}")


def to_the_end(stage: Stage, name: str = "one", by: Remediation | None = None) -> Incident:
    """Let one program carry it to its end."""
    for _ in carried_on(stage, name, by):
        pass
    return incident(stage, name)


def run(stage: Stage, name: str = "one", runners: int = 1) -> Incident:
    """Let programs beside one another carry it to its end."""
    for number in range(runners):
        stage.run_by(name, f"r{number}")
    stage.world.run()
    return incident(stage, name)
