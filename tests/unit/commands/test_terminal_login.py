"""Who stands behind a command: the login, and not what somebody claims."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from bot.commands.terminal_login import complete, os_login, terminal_user
from bot.domain.entry import is_author

UNSET = str(2**32 - 1)
NOBODY = pwd.getpwnam("nobody").pw_uid


@pytest.mark.parametrize(
    ("environment", "uid", "session", "login"),
    [
        ({}, 0, UNSET, "root"),
        ({}, 0, None, "root"),
        ({}, 0, str(NOBODY), "nobody"),
        ({"SUDO_USER": "ann"}, 0, UNSET, "ann"),
        ({"SUDO_USER": "ann"}, 0, str(NOBODY), "ann"),
        ({"SUDO_USER": "ann"}, 1, UNSET, "ann"),
        ({"SUDO_USER": "ann"}, 1, str(NOBODY), "nobody"),  # only root could have come by sudo to be another
        ({"SUDO_USER": ""}, NOBODY, UNSET, "nobody"),
        ({}, 4242424, UNSET, "4242424"),
        ({"SUDO_USER": "T1/ann b\n"}, 0, UNSET, "T1-ann-b-"),
    ],
)
def test_login_is_told_by_sudo_the_session_or_the_user(
    tmp_path: Path, environment: dict[str, str], uid: int, session: str | None, login: str
) -> None:
    login_uid = tmp_path / "loginuid"
    if session is not None:
        login_uid.write_text(session)
    assert os_login(environment, uid, login_uid) == login


def test_person_at_the_terminal_has_a_name_for_the_record() -> None:
    who = terminal_user(os.environ)
    assert is_author(who)
    assert who.startswith("terminal:")


NO_SUCH_UID = 4242424


@pytest.mark.parametrize(
    ("environment", "uid", "after"),
    [
        ({}, NO_SUCH_UID, {"HOME": "/", "LOGNAME": "4242424"}),
        ({"HOME": "", "LOGNAME": ""}, NO_SUCH_UID, {"HOME": "/", "LOGNAME": "4242424"}),
        ({"HOME": "/x", "USER": "ann"}, NO_SUCH_UID, {"HOME": "/x", "USER": "ann"}),
        ({}, NOBODY, {}),
    ],
)
def test_user_whom_the_system_does_not_know_gets_a_home_and_a_login_name(
    environment: dict[str, str], uid: int, after: dict[str, str]
) -> None:
    complete(environment, uid)
    assert environment == after
