"""What test_extending.py runs in its copy of the program: a node with little chance, on the card and in the note."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime

from bot.app.factories import library
from bot.causes import CAUSES
from bot.demo.fleet import FLEET
from bot.demo.machine.machine import Machine
from bot.domain.command import Completed, Outputs
from bot.domain.evaluation import evaluate_playbook
from bot.probes import PROBES
from bot.probes.conntrack import ConntrackReading
from bot.surfaces.pagerduty_note import note_text
from tests.alerts.pages import judged
from tests.unit.causes import builders as b
from tests.unit.surfaces.cards import CONTEXT
from tests.unit.surfaces.test_slack_card import card


async def simulated() -> list[int]:
    """The bits that simulated nodes answer, each figure once."""
    probe = PROBES["entropy"]
    (command,) = probe.commands
    found = set()
    for member in FLEET:
        answer = await Machine(member.state, datetime.now(UTC), lambda: 0.0).run(command.argv)
        found.add(probe.read(Outputs(Completed(probe.name, command.name, 0, answer.stdout.decode()))).bits)
    return sorted(found)


def main() -> None:
    """Print what came of it, as JSON."""
    known = library()
    playbook, table = known.get("node-health"), ConntrackReading(True, 900, 262_144)
    starved = evaluate_playbook(b.node(table, PROBES["entropy"].reading(40, ("40",))), playbook)
    unread = evaluate_playbook(b.node(table, b.unread("entropy")), playbook)
    page = judged("Q3B15VLMF3ASBD", starved)
    said = {
        "left_out": [*known.left_out],
        "cause": CAUSES["entropy-starved"].title,
        "healthy": evaluate_playbook(b.node(table), playbook).status,
        "unread": [unread.status, unread.summary],
        "card": card({}, [replace(starved, node="node-1")]).text,
        "note": note_text([page], page.id, "", CONTEXT),
        "simulated": asyncio.run(simulated()),
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main()
