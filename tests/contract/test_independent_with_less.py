"""Every independently labelled machine, with each reading left out: no step more, and nothing grave cleared."""

from __future__ import annotations

import pytest

from bot.causes import CAUSES
from tests.contract.test_independent_nodes import judged
from tests.contract.test_recorded_nodes import PLAYBOOK, hold_with_less
from tests.independent.labels import LABELS


@pytest.mark.long
@pytest.mark.parametrize("cause", sorted(CAUSES))
def test_a_reading_less_adds_no_step_and_clears_nothing_grave(cause: str) -> None:
    for label in LABELS:
        if label.about == cause and label.playbook == PLAYBOOK.name:
            hold_with_less(label.name, judged(label))
