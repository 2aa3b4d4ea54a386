"""Every independently labelled machine, with each reading left out: no step more, and nothing grave cleared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.causes import CAUSES
from bot.domain.evaluation import evaluate_playbook
from bot.domain.probe import Unread
from bot.domain.verdict import Status
from tests.contract.test_captures_with_less import PLAYBOOK, open_and_grave, steps
from tests.contract.test_independent_nodes import judged
from tests.independent.labels import LABELS


@pytest.mark.long
@pytest.mark.parametrize("cause", sorted(CAUSES))
def test_a_reading_less_adds_no_step_and_clears_nothing_grave(cause: str) -> None:
    about = [label for label in LABELS if label.about == cause and label.playbook == PLAYBOOK.name]
    for label in about:
        whole = judged(label)
        assert whole.snapshot is not None
        snapshot = whole.snapshot
        asked = replace(PLAYBOOK, probes=tuple(probe for probe in PLAYBOOK.probes if probe.name in snapshot.readings))
        for probe in snapshot.readings:
            readings = {**snapshot.readings, probe: Unread(probe, "left out")}
            less = evaluate_playbook(replace(snapshot, readings=readings), asked)
            assert steps(less) <= steps(whole), f"{label.name}: {probe} unread adds a step"
            if less.status is Status.HEALTHY:
                assert whole.status is not Status.CRITICAL, f"{label.name}: healthy without {probe}"
                opened = open_and_grave(less) - open_and_grave(whole)
                assert not opened, f"{label.name}: healthy, though without {probe} it is open whether there is {opened}"
