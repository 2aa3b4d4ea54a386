"""A plan that nobody decides on is told of once more, in its card's thread, at half of its time; also by a next run."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

from bot.demo.slack.message import Message
from tests.slack.acting_team import BOB, acting_team, people
from tests.slack.workspace import SlackWorkspace, workspace

WAITS = "still waits for a decision"


def reminders(slack: SlackWorkspace, card: Message) -> list[Message]:
    return [message for message in slack.thread(card) if WAITS in message.text]


async def test_reminder_comes_once_in_the_thread_also_after_a_restart(tmp_path: Path) -> None:
    policy = people(approvers=frozenset((f"slack:T0000/{BOB}",)))
    async with workspace() as slack, acting_team(slack, tmp_path, policy=policy) as team:
        card = await team.proposed("node-1")
        (summary,) = await team.ledger.incidents()
        incident = await team.find(summary.id)
        assert incident.proposed_at is not None
        half, mine = incident.proposed_at + policy.approval_expires / 2, {summary.card}
        await team.acting.cards.remind(half - timedelta(seconds=1), mine)
        await team.acting.cards.remind(half, set())
        await asyncio.sleep(0.2)
        assert reminders(slack, card) == [], "not before its time, and not by who does not see to it"

        await team.acting.cards.remind(half, mine)
        reminder = await slack.until(lambda: next(iter(reminders(slack, card)), None), what="the reminder")
        assert f"node-1 {WAITS}" in reminder.text
        assert f"<@{BOB}>" in reminder.text
        assert not reminder.is_broadcast

        again = team.restarted("runner-2")
        await again.cards.show(await again.cards.group(summary.card))
        for acting in (team.acting, again):
            await acting.cards.remind(half + timedelta(minutes=1), mine)
        await asyncio.sleep(0.3)
        assert len(reminders(slack, card)) == 1, "a restart says nothing twice"
