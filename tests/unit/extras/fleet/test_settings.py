"""What [[sweep]] may hold, and what is said of what it may not."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.errors import SettingsError
from bot.extras.fleet.settings import SweepSettings
from bot.settings import Settings


def loaded(folder: Path, text: str) -> Settings:
    (folder / "zombie.toml").write_text(text)
    return Settings.load({}, {}, folder, folder, {"sweep": SweepSettings})


def test_a_sweep_has_one_selector_or_several_and_its_quiet_hours(tmp_path: Path) -> None:
    first, second = loaded(
        tmp_path,
        '[[sweep]]\nevery = "6h"\nselect = "role=gpu"\ncause = "disk-full"\nchannel = "C1"\nquiet = ["22:00-06:00"]\n'
        "full = true\n"
        '[[sweep]]\nselect = ["a", "b-*"]\nchannel = "C2"\n',
    ).every(SweepSettings)
    assert (first.every, first.select, first.cause, first.channel) == (
        timedelta(hours=6),
        ("role=gpu",),
        ("disk-full",),
        "C1",
    )
    assert (first.quiet, first.full, second.full) == (((1320, 360),), True, False)
    assert (second.select, second.cause, second.quiet) == (("a", "b-*"), (), ())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('select = "a"\n', "channel is missing"),
        ('channel = "C1"\n', "select is missing"),
        ('select = "a"\nchannel = "C1"\nevery = "5s"\n', "from “1m”"),
        ('select = "a"\nchannel = "C1"\ncauses = ["x"]\n', "Did you mean cause?"),
        ('select = 7\nchannel = "C1"\n', "list of texts"),
        ('select = "a"\nchannel = "C1"\nquiet = ["late"]\n', "22:00-06:00"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(SettingsError) as no:
        loaded(tmp_path, f"[[sweep]]\n{text}")
    assert says.replace("“", '"').replace("”", '"') in str(no.value)
    assert "zombie.toml:" in str(no.value)
