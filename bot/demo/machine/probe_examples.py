"""What probes say themselves that a healthy node answers; a simulated node needs no words of its own for those."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from bot.demo.machine.command import Answer
from bot.domain.probe import Probe
from bot.probes import PROBES

_FILLED_IN = re.compile(r"\\\{(?:samples|rest)\\\}")  # what a batch puts a number for


class ProbeExamples:
    """The examples of probes, by the commands that they answer."""

    def __init__(self, probes: Iterable[Probe]) -> None:
        self._answers = [
            (_pattern(argv), Answer.text(probe.example[command.name]))
            for probe in probes
            for command in probe.commands
            if command.name in probe.example
            for argv in (command.argv, *command.alternatives)
        ]

    def answer(self, argv: Sequence[str]) -> Answer | None:
        """Return what a healthy node prints for a command, None if no probe says it."""
        if not self._answers:
            return None
        line = "\0".join(argv)
        return next((answer for pattern, answer in self._answers if pattern.fullmatch(line)), None)


def _pattern(argv: Sequence[str]) -> re.Pattern[str]:
    words = (argv[0].removeprefix("/usr/bin/"), *argv[1:])
    return re.compile(_FILLED_IN.sub(r"[0-9.]+", re.escape("\0".join(words))))


EXAMPLES = ProbeExamples(PROBES.values())
