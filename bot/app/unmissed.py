"""Finds causes and conditions that no case needs: each case is replayed once for each playbook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bot.actions import ACTIONS
from bot.app.cases import as_asked, awaited, replayed, surroundings
from bot.domain.playbook import Playbook
from bot.response.diagnosis.unmissed import UnmissedItems, missed, pieces
from bot.response.diagnosis.what_if import Judge
from bot.transport import case_file


def unmissed(playbooks: Sequence[Playbook], files: Sequence[Path]) -> Iterator[UnmissedItems]:
    """Yield for each playbook the causes and conditions that no case needs.

    Raises: CaseError for the first case that cannot be read.
    """
    cases = [case_file.load(path) for path in files]
    for playbook in playbooks:
        every = left = pieces(playbook)
        for case in cases:
            if not left:
                break
            verdict = awaited(replayed(case, playbook))
            if verdict.snapshot is None:  # the node was not reached
                continue
            judge = Judge(as_asked(case, playbook), ACTIONS, *surroundings(case.head))
            found = set(missed(verdict.snapshot, judge, left))
            left = tuple(piece for piece in left if piece not in found)
        yield UnmissedItems(playbook.name, len(every), left)
