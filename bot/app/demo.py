"""The demo, put together: the same check as any, pointed at simulated nodes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bot.app.check import DEADLINE_BEYOND_WINDOW, Check, check
from bot.app.parts import DEFAULT_PLAYBOOK, inventory, library, now, ssh_transport
from bot.app.watching import shown_progress, terminal_width
from bot.demo.story import Stage, tell
from bot.domain.batch import Sampling
from bot.domain.verdict import Verdict
from bot.surfaces.document import document
from bot.surfaces.text import headline, verdict_text


def demo(samples: int, command: str) -> int:
    """Run the demo in the terminal and return the exit status; `command` is how the program is called."""

    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    playbook = library().get(DEFAULT_PLAYBOOK)

    async def look(path: Path, names: Sequence[str]) -> Sequence[Verdict]:
        known = inventory(path, os.environ)
        nodes = tuple(map(known.find, names)) or tuple(known.nodes)
        sampling = Sampling(samples)
        what = Check(
            nodes, playbook, ssh_transport(os.environ), sampling, sampling.window + DEADLINE_BEYOND_WINDOW, len(nodes)
        )
        verdicts: dict[str, Verdict] = {}
        async with shown_progress() as (heard, clear):

            def concluded(verdict: Verdict) -> None:
                verdicts[verdict.node] = verdict
                clear()
                print(headline(verdict, colour), flush=True)

            await check(what, heard, concluded)
        return [verdicts[node.name] for node in nodes if node.name in verdicts]

    stage = Stage(
        check=look,
        whole=lambda verdict: verdict_text(verdict, min(100, terminal_width()), colour),
        document=document,
        clock=now,
        write=lambda text: print(text, end="", flush=True),
        ask=input,
        command=command,
    )
    return tell(stage)
