"""memory_errors: half an answer is none."""

import pytest

from bot.domain.errors import CannotRead
from bot.probes.memory_errors import parse
from tests.readings.recorded import once


@pytest.mark.parametrize(
    "text", ["mc0/ue_count:-1\n-- end --\n", "/sys/devices/system/edac/mc/mc0/ue_count:1\n-- end --\n", "product x\n"]
)
def test_half_an_answer_is_unread(text: str) -> None:
    with pytest.raises(CannotRead, match="memory_errors"):
        parse(once("look", text))
