"""The login that acts may be another than the one that reads, and is asked for only where it is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.app.acting import acting_login, acting_rights
from bot.domain.errors import SettingsError
from bot.settings import Settings

ACT = '[act]\nunits = ["ecs.service", "a.service"]\n'


def settings(folder: Path, text: str) -> Settings:
    (folder / "zombie.toml").write_text(text)
    return Settings.load({}, {}, folder)


def test_key_of_its_own_is_looked_for_beside_the_settings_and_in_the_home(tmp_path: Path) -> None:
    (tmp_path / "act_key").touch()
    told = settings(tmp_path, '[ssh.act]\nuser = "fixer"\nkey = "act_key"\n')
    assert acting_login(told, {}) == {"user": "fixer", "key": tmp_path / "act_key"}
    told = settings(tmp_path, '[ssh.act]\nkey = "~/act_key"\n')
    assert acting_login(told, {"HOME": str(tmp_path)}) == {"key": tmp_path / "act_key"}


def test_key_that_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no_key"):
        acting_login(settings(tmp_path, '[ssh.act]\nkey = "no_key"\n'), {})


def test_rights_are_those_of_the_named_units_and_none_where_none_is(tmp_path: Path) -> None:
    assert acting_rights(settings(tmp_path, "")) == ()
    rights = [" ".join(argv) for argv in acting_rights(settings(tmp_path, ACT))]
    assert rights == [
        "systemctl disable --now -- a.service",
        "systemctl mask --now -- a.service",
        "systemctl disable --now -- ecs.service",
        "systemctl mask --now -- ecs.service",
        "systemctl reboot",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[policy]\nquiet = ["22-6"]\n', "22:00-06:00"),
        ("[act]\nper_label = { az = 0 }\n", "az"),
        ("[act]\nunit = []\n", "units"),
    ],
)
def test_rule_that_is_malformed_is_said_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(SettingsError, match=r"zombie\.toml:2") as no:
        settings(tmp_path, text)
    assert says in str(no.value)
