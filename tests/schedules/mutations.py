"""Holes that were mended, each put back into the program: the schedules have to find every one of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from bot.domain.fence import Fence, FenceRefusal
from bot.domain.incident import Incident
from bot.ledger import Ledger, holds
from bot.ledger.chat_requests import ChatRequestStore
from bot.ledger.database import on_thread
from bot.response.decision import braking, guards
from bot.response.execution.node_access import runs_by_probe
from bot.response.execution.step_proof import StepProof


@dataclass(frozen=True)
class Mutation:
    """A hole: what it is, what puts it back, and what the schedules then say."""

    name: str
    put_back: Callable[[pytest.MonkeyPatch], None]
    found: str

    def __str__(self) -> str:
        return self.name


def fence_without(why: FenceRefusal) -> Callable[[pytest.MonkeyPatch], None]:
    """Return what leaves one condition out of every fence."""
    whole = Fence.fenced_line
    condition = re.compile(rf'(up=\S+ \S+ )?test "[^"]+" \S+ \S+ \|\| \{{ echo "[^"]*" >&2; exit {why.value}; \}}; ')

    def put_back(patch: pytest.MonkeyPatch) -> None:
        def around(self: Fence, line: str) -> str:
            open_line, left_out = condition.subn("", whole(self, line))
            assert left_out == 1, "the fence is written otherwise by now"
            return open_line

        patch.setattr(Fence, "fenced_line", around)

    return put_back


def journal_outside_the_fence(patch: pytest.MonkeyPatch) -> None:
    whole = Fence.fenced_line
    told = re.compile(r"(.*; )(timeout -k 1 2 sh -c '[^']+' \S+ \S+ \S+; exec </dev/null; )(.*)")

    def around(self: Fence, line: str) -> str:
        found = told.fullmatch(whole(self, line))
        assert found is not None, "the fence is written otherwise by now"
        return found[2] + found[1] + found[3]

    patch.setattr(Fence, "fenced_line", around)


def key_not_demanded(patch: pytest.MonkeyPatch) -> None:
    async def runs(way: Any, node: Any, asked: Any, deadline: Any, host_key: str | None = None) -> Any:
        return await runs_by_probe(way, node, asked, deadline, None)

    patch.setattr("bot.response.execution.node_access.runs_by_probe", runs)


def sent_again_at_once(patch: pytest.MonkeyPatch) -> None:
    whole = StepProof._send_again

    async def again(self: StepProof, incident: Any, node: Any, step: Any, record: Any, *rest: Any) -> Any:
        self.steps.attempts.unsent.add((incident.id, record.number, record.attempt))
        return await whole(self, incident, node, step, record, *rest)

    patch.setattr(StepProof, "_send_again", again)


def held_by_name(patch: pytest.MonkeyPatch) -> None:
    whole = holds.last_try
    patch.setattr(holds, "_is_on_machine", lambda row, node, machine_id: row.node.lower() == node.lower())
    patch.setattr(holds, "last_try", lambda rows, claim, since: whole(rows, replace(claim, machine_id=""), since))


def released_by_any_dialog(patch: pytest.MonkeyPatch) -> None:
    whole = braking._release

    async def release(ledger: Any, approval: Any, pull: int, asked_at: Any) -> None:
        await whole(ledger, approval, 0, None)

    patch.setattr(braking, "_release", release)


def answered_by_any_dialog(patch: pytest.MonkeyPatch) -> None:
    whole = guards.require_open_question
    patch.setattr(guards, "require_open_question", lambda incident, answer, asked_at: whole(incident, answer))


def delivery_not_known(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ChatRequestStore, "keep", on_thread(lambda self, key, body="": True))
    patch.setattr("bot.ledger.ledger.pull_of", lambda connection, request: None)


def request_not_compared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("bot.ledger.ledger.pull_of", lambda connection, request: None)


def voice_not_asked_again(patch: pytest.MonkeyPatch) -> None:
    async def again(self: guards.ApprovalCounter, incident: Any, said: Any) -> None:
        """Not asked."""

    patch.setattr(guards.ApprovalCounter, "_again", again)


def brake_past_a_resend(patch: pytest.MonkeyPatch) -> None:
    whole, brake = vars(Ledger)["begin"].method, holds.brake

    def begin(self: Ledger, stream: str, seq: int, event: Any, by: str, claim: Any) -> Any:
        patch.setattr(holds, "brake", brake if event.attempt == 1 else lambda connection: None)
        try:
            return whole(self, stream, seq, event, by, claim)
        finally:
            patch.setattr(holds, "brake", brake)

    patch.setattr(Ledger, "begin", on_thread(begin))


def quiet_by_our_clock_alone(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(holds, "check_not_quiet", lambda quiet, now: None)


def older_card_counts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(guards, "check_same_plan", lambda policy, proposal, approval: None)


def alert_that_is_over_not_asked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Incident, "is_over", property(lambda incident: False))


MUTATIONS = (
    Mutation("fence without the machine", fence_without(FenceRefusal.MACHINE), "another machine was acted on"),
    Mutation("fence without the boot", fence_without(FenceRefusal.BOOT), "changes by commands from long ago"),
    Mutation("fence without the deadline", fence_without(FenceRefusal.LATE), "changes by commands from long ago"),
    Mutation("journal told outside the fence", journal_outside_the_fence, "that never were"),
    Mutation("host key not demanded", key_not_demanded, "another machine was acted on"),
    Mutation("sent again without waiting", sent_again_at_once, "while an earlier one could still begin"),
    Mutation("alert that is over", alert_that_is_over_not_asked, "had said that it is over"),
    Mutation("hold by name only", held_by_name, "one machine was acted on by two incidents"),
    Mutation("brake released by an old dialog", released_by_any_dialog, "was released by what was about"),
    Mutation("question answered by an old dialog", answered_by_any_dialog, "was answered by what was"),
    Mutation("delivery handled twice", delivery_not_known, "pulled the brake"),
    Mutation("delivery that was taken over not compared", request_not_compared, "pulled the brake"),
    Mutation("earlier voice not asked again", voice_not_asked_again, "voices counted"),
    Mutation("brake ignored at a resend", brake_past_a_resend, "began while the brake was on"),
    Mutation("quiet hours by our clock alone", quiet_by_our_clock_alone, "in quiet hours"),
    Mutation("yes to an older card", older_card_counts, "a yes to another plan counted"),
)
