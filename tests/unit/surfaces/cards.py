"""Incidents as cards, and what is looked for on them."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from bot.actions import ACTIONS
from bot.chat.blocks import PROFILE
from bot.chat.service import Message
from bot.domain.events import IncidentEvent
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.policy import Policy
from bot.extras.marks.chat import QUESTION
from bot.surfaces.slack.drawing import without_blocks
from bot.view.context import ViewContext
from bot.view.plan_words import PlanWords
from tests.known import known
from tests.record.incidents import entries
from tests.slack.drawn import acting_card, objects
from tests.unit.surfaces.test_slack_card import strings, taken_by_slack

POLICY = Policy(
    acting=True,
    approvers=frozenset(("slack:U0BOB00001",)),
    approver_groups=frozenset(("slack:S0SRE00001",)),
    approval_expires=timedelta(minutes=15),
)
WORDS = PlanWords(ACTIONS)
CONTEXT = ViewContext(POLICY, WORDS, head="ab12cd34ef56", asks=(QUESTION,))


def told(*events: IncidentEvent, stream: str = "7k3m9x2qpv") -> Incident:
    return fold(entries(events, stream))


def shown(incident: Incident, context: ViewContext = CONTEXT) -> Message:
    message = known(acting_card([incident], context))
    taken_by_slack(message)
    taken_by_slack(without_blocks(message))
    return message


def words(message: Message) -> str:
    return " ".join(strings(json.loads(json.dumps(list(message.blocks)))))


def actions(blocks: Any) -> list[tuple[str, str]]:
    """The buttons and menus of some blocks, with their values."""
    return [(one["action_id"], str(one.get("value", ""))) for one in objects(blocks) if "action_id" in one]


def buttons(message: Message) -> list[str]:
    """What can be decided on a card; a profile decides nothing, and may be asked for on most of them."""
    return [action for action, _ in actions(message.blocks) if action != PROFILE]


def part(message: Message, kind: str) -> list[dict[str, Any]]:
    """Every rich text element of one kind."""
    return [one for one in objects(message.blocks) if one.get("type") == kind]
