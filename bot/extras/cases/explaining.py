"""Why a verdict was given: what would have changed it, each change proven by a replay before it is shown."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.actions import ACTIONS
from bot.app import plugins
from bot.app.cases import judged_with_secrets, remarks, replayed, run_alone, surroundings, with_recorded_probes
from bot.app.factories import library, python_environment
from bot.domain.case import Case, without_secrets
from bot.domain.errors import ZombieError
from bot.domain.playbook import Playbook, Playbooks
from bot.domain.safe_text import Redactor
from bot.domain.verdict import Verdict, outcome_parts
from bot.extras.cases.what_if import Judge, VerdictExplanation, WhatIf, short_verdict, what_ifs
from bot.extras.cases.what_if_words import sentence
from bot.view.plan_words import PlanWords

if TYPE_CHECKING:
    from bot.app.bot import Bot
    from bot.seats import Explains

WORDS = PlanWords(ACTIONS)
MOST_PROVEN = 6  # a thread shows three and counts the others
NICE = 10  # alerts, clicks and readings go first
IDLE_SECONDS = 60.0  # after that a process that explains ends: it takes 60 MiB


def find_changes(case: Case, playbook: Playbook) -> VerdictExplanation:
    """Return what would change the verdict on a case; nothing where the node was not reached.

    Raises: CaseError when the case holds settings that cannot be read.
    """
    redactor = Redactor()
    verdict = run_alone(replayed(case, playbook, redactor=redactor))
    explanation = VerdictExplanation(case, verdict, (), remarks(case, playbook, verdict))
    if verdict.snapshot is None:
        return explanation
    node, draining = surroundings(case.head)
    judge = Judge(with_recorded_probes(case, playbook), ACTIONS, node, draining, case.muted)
    found = what_ifs(verdict.snapshot, judge)
    clean = (replace(each, verdict=short_verdict(each.verdict, redactor)) for each in found)
    return replace(explanation, changes=tuple(clean))


def confirm_by_replay(explanation: VerdictExplanation, playbook: Playbook, most: int) -> tuple[WhatIf, ...]:
    """Return the first `most` changes that a replay confirms; all others are left out.

    Raises: CaseError when the case holds settings that cannot be read.
    """
    return run_alone(_proven(explanation, playbook, most))


async def _proven(explanation: VerdictExplanation, playbook: Playbook, most: int) -> tuple[WhatIf, ...]:
    redactor, found = Redactor(), list[WhatIf]()
    for each in explanation.changes:
        if len(found) == most:
            break
        again = short_verdict(await judged_with_secrets(explanation.case, playbook, [each.change]), redactor)
        if outcome_parts(again) == outcome_parts(each.verdict):
            found.append(each)
    return tuple(found)


def explained(case: Case, playbook: Playbook) -> VerdictExplanation:
    """Return a case's verdict and every change that a replay confirms.

    Raises: CaseError when the case holds settings that cannot be read.
    """
    explanation = find_changes(case, playbook)
    return replace(explanation, changes=confirm_by_replay(explanation, playbook, len(explanation.changes)))


@dataclass(frozen=True, slots=True)
class Why:
    """What would have changed a verdict that people see, a sentence for each change; `because` is why there is none.

    Shape: `again` is the verdict that the case gives now, None where it was not judged again.
    """

    sentences: tuple[str, ...] = ()
    because: str = ""
    again: Verdict | None = None


def why_as_shown(case: Case, playbooks: Playbooks, shown: Verdict, most: int) -> Why:
    """Say why a verdict that people see was given, by the playbook that gave it: so many changes, each proven."""
    try:
        playbook = playbooks.get(case.head.playbook)
        if playbook.digest != case.head.playbook_digest:
            return Why((), f"The playbook {case.head.playbook} has changed since, so it is not evaluated again.")
        explanation = find_changes(case, playbook)
        again = explanation.verdict
        if (again.status, again.cause, again.confidence) != (shown.status, shown.cause, shown.confidence):
            return Why(
                (), "This version of the program gives another verdict, so nothing is said about changes.", again
            )
        if not explanation.changes:
            return Why((), "No single change of a reading would change this verdict.", again)
        proven = confirm_by_replay(explanation, playbook, most)
    except ZombieError as no:  # it cannot be judged again
        return Why((), no.sentence)
    return Why(tuple(sentence(each, again, WORDS) for each in proven), "", again)


def why_sentences(verdict: Verdict, playbooks: Playbooks) -> list[str]:
    """Return a sentence for each proven change, the smallest first; none where the case cannot be judged again."""
    kept = verdict.snapshot.case if verdict.snapshot is not None else None
    if kept is None:
        return []
    case = replace(kept, runs=tuple(map(without_secrets, kept.runs)), muted=verdict.muted)  # as it is stored
    return list(why_as_shown(case, playbooks, verdict, MOST_PROVEN).sentences)


@dataclass(frozen=True, slots=True)
class Explainer:
    """Explains one case at a time, in its own thread, because it takes some tenths of a second."""

    playbooks: Playbooks
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def told(self, case: Case) -> VerdictExplanation:
        """Return a case's verdict by its own playbook, and every proven change.

        Raises: CaseError; PlaybookError when that playbook is gone.
        """
        playbook = self.playbooks.get(case.head.playbook)
        async with self._turn:
            return await asyncio.to_thread(explained, case, playbook)


@dataclass(slots=True)
class SubprocessExplainer:
    """Says why, for `serve`, in a process of its own: a thread would hold up alerts and clicks as long as it computes.

    Shape: the process is there from the first question on, until nothing was asked for a while.
    """

    folders: tuple[Path, ...]
    posts: Sequence[tuple[str, Any]] = ()
    _process: asyncio.subprocess.Process | None = None
    _end: asyncio.TimerHandle | None = None
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def sentences(self, verdict: Verdict) -> Sequence[str]:
        """Return what `why_sentences` does; none where the process cannot be started, or dies."""
        if verdict.snapshot is None or verdict.snapshot.case is None:
            return ()
        bare = replace(verdict, snapshot=replace(verdict.snapshot, readings={}))  # the case is judged again
        async with self._turn:
            try:
                said: list[str] = json.loads(await self._ask_process(bare))
            except (OSError, ValueError):  # without its answer, it ended
                self._end_process()
                return ()
            except BaseException:  # cancelled: the next question would take this one's answer for its own
                self._end_process()
                raise
            self._end = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._end_process)
        return said

    async def _ask_process(self, verdict: Verdict) -> bytes:
        if self._end is not None:
            self._end.cancel()
        first = b""
        if self._process is None:
            pipe, none = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
            command, environment = (sys.executable, "-P", "-c", _PROGRAM), python_environment()
            # A session of its own: Ctrl-C is meant for the bot, which ends it.
            self._process = await asyncio.create_subprocess_exec(
                *command, stdin=pipe, stdout=pipe, stderr=none, start_new_session=True, env=environment
            )
            first = pickle.dumps((self.folders, plugins.enabled_plugins()))
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(first + pickle.dumps(verdict))
        return await self._process.stdout.readline()

    def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()

    async def start(self) -> None:
        """Nothing begins before it is asked for."""

    async def stop(self) -> None:
        """End the process; what it has not said never comes."""
        process = self._process
        self._end_process()
        async with self._turn:  # whoever waits for its answer hears that it ended
            if (
                process is not None
            ):  # read to its end: asyncio waits for ever for a process that left more than a buffer
                await process.communicate()


_PROGRAM = "from bot.extras.cases.explaining import main; main()"


def main() -> None:
    """Explain verdicts, each a pickle on stdin, until that ends; the sentences of each are a line of JSON."""
    os.nice(NICE)
    folders, packages = pickle.load(sys.stdin.buffer)  # only whoever started this process has its other end
    plugins.enable_plugins(packages)
    playbooks = library(folders)
    with suppress(EOFError):
        while True:
            print(json.dumps(why_sentences(pickle.load(sys.stdin.buffer), playbooks)), flush=True)


def explainer(bot: Bot) -> SubprocessExplainer:
    """Return what says why, for a bot that serves."""
    return SubprocessExplainer(tuple(bot.settings.playbooks))


def explains(bot: Bot) -> Explains:
    """Return its sentences."""
    return serving(bot).sentences


def serving(bot: Bot) -> SubprocessExplainer:
    """Return it as work of the bot, which ends its process."""
    return bot.once(explainer)
