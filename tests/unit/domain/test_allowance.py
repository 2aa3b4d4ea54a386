"""So many times within a time, as people write it."""

from datetime import timedelta

import pytest

from bot.domain.allowance import Allowance


@pytest.mark.parametrize(
    ("text", "most", "within"), [("20/10m", 20, 600), ("1/1s", 1, 1), ("1000000/1d", 10**6, 86400)]
)
def test_allowance_is_read_as_it_is_written(text: str, most: int, within: int) -> None:
    found = Allowance.parse(text)
    assert found == Allowance(most, timedelta(seconds=within))
    assert str(found) == text


@pytest.mark.parametrize(
    "text", ["", "20", "/10m", "0/10m", "-1/10m", "20/", "20/0s", "20/10", "x/10m", "²/1h", "9" * 5000 + "/1h"]
)
def test_what_is_none_is_refused_with_its_form(text: str) -> None:
    with pytest.raises(ValueError, match="20/10m"):
        Allowance.parse(text)
