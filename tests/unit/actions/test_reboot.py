"""What is read again just before a reboot, and what it must not cut off."""

import pytest

from bot.actions import ACTIONS
from bot.actions.reboot import CutOff
from bot.domain.command import Completed, Outputs
from bot.domain.errors import CannotRead, WouldCutOff
from bot.probes import unfinished
from tests.known import known_as

AT_REST, END = unfinished.PROBE.example["look"], "-- end of units --\n"
ONESHOT = "Id=backup.service\nType=oneshot\nActiveState=activating\nSubState=start\nNRestarts=0\n"


def affects(look: str = AT_REST, first: str = END, later: str = END) -> str:
    told = (("look", 0, look), ("starting", 0, first), ("starting", 1, later))
    return CutOff().affects({}, Outputs(*(Completed("also", name, at, text) for name, at, text in told)))


def test_reboot_asks_without_root() -> None:
    around = known_as(ACTIONS["reboot"].around, CutOff)
    assert not any("sudo" in word for command in around.looks({}) for word in command.argv)


def test_nothing_at_work_is_nothing_to_tell() -> None:
    assert affects() == ""
    none = "no /run/systemd/system\n"
    assert affects(first=none, later=none) == ""


@pytest.mark.parametrize(
    ("look", "says"),
    [
        ("md md0/md/sync_action recover 12 / 99\n", "md0 is in recover"),
        ("program firmware flashrom\n", "flashrom writes firmware now"),
        ("program packages apt-get\n", "apt-get installs or removes packages now"),
        ("boot empty vmlinuz-9.9.0\n", "vmlinuz-9.9.0, the newest kernel, is empty"),
    ],
)
def test_what_is_at_work_is_named(look: str, says: str) -> None:
    with pytest.raises(WouldCutOff, match=says):
        affects(look=look + AT_REST)


def test_oneshot_counts_that_is_at_work_at_both_looks() -> None:
    with pytest.raises(WouldCutOff, match=r"backup\.service is at work"):
        affects(first=ONESHOT + END, later=ONESHOT + END)
    assert affects(first=ONESHOT + END) == ""
    for other in ("Type=notify", "Type=simple"):
        starting = ONESHOT.replace("Type=oneshot", other) + END
        assert affects(first=starting, later=starting) == ""
    looping = ONESHOT.replace("NRestarts=0", "NRestarts=300") + END
    assert affects(first=looping, later=looping) == "", "systemd begins it again and again"


def test_no_answer_is_no_leave() -> None:
    for said in ({"look": "md md0"}, {"first": ""}, {"later": ONESHOT}):
        with pytest.raises(CannotRead):
            affects(**said)
