"""Each action: what proves it, what brings back what was, what it needs as root."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bot.actions import ACTIONS
from bot.actions.unit_verbs import STARTED_BY
from bot.domain.action import Proof
from bot.domain.command import Completed, Outputs, SampleTimes
from bot.domain.errors import CannotRead
from bot.domain.probe import Snapshot
from bot.response.execution.sudoers import acting_lines

UNIT = {"unit": "ecs.service"}
LOOPING = {"LoadState": "loaded", "ActiveState": "activating", "SubState": "auto-restart", "UnitFileState": "enabled"}
OFF = {"LoadState": "loaded", "ActiveState": "inactive", "SubState": "dead", "UnitFileState": "disabled"}
UNTIL_BOOT = OFF | {"LoadState": "masked", "UnitFileState": "masked-runtime"}
BOOT, OTHER = "3b1cd2f4-71f5-4b0e-9c0c-0f7b6e1a2b3c", "99999999-71f5-4b0e-9c0c-0f7b6e1a2b3c"


@pytest.mark.parametrize(
    ("action", "now", "proof"),
    [
        ("disable_unit", OFF, Proof.PROVEN),
        ("disable_unit", OFF | {"ActiveState": "failed"}, Proof.PROVEN),
        ("disable_unit", OFF | {"UnitFileState": "masked"}, Proof.PROVEN),
        ("disable_unit", OFF | {"UnitFileState": "masked", "WantedBy": "multi-user.target"}, Proof.PROVEN),
        *(("disable_unit", OFF | {by: "b.service"}, Proof.NOT_YET) for by in STARTED_BY),
        ("disable_unit", LOOPING, Proof.NOT_YET),
        ("disable_unit", OFF | {"UnitFileState": "enabled"}, Proof.NOT_YET),
        ("disable_unit", OFF | {"UnitFileState": "enabled-runtime"}, Proof.NOT_YET),
        ("disable_unit", OFF | {"ActiveState": "activating"}, Proof.NOT_YET),
        ("disable_unit", OFF | {"ActiveState": "deactivating"}, Proof.NOT_YET),
        ("mask_unit", OFF, Proof.NOT_YET),
        ("mask_unit", OFF | {"LoadState": "masked", "UnitFileState": "masked"}, Proof.PROVEN),
        ("mask_unit", OFF | {"LoadState": "masked", "ActiveState": "active"}, Proof.NOT_YET),
        ("mask_unit", OFF | {"LoadState": "masked", "UnitFileState": "bad"}, Proof.PROVEN),
        *((f"{verb}_unit", UNTIL_BOOT, Proof.NOT_YET) for verb in ("disable", "mask")),
    ],
)
def test_unit_counts_as_off_only_when_it_neither_runs_nor_starts(
    action: str, now: dict[str, str], proof: Proof
) -> None:
    assert ACTIONS[action].judge(UNIT, LOOPING, now) is proof


def test_mask_of_an_older_systemd_is_known_to_last_only_if_it_is_new() -> None:
    masked = OFF | {"LoadState": "masked", "UnitFileState": "bad", "WantedBy": "multi-user.target"}
    for action in ("disable_unit", "mask_unit"):
        assert ACTIONS[action].judge(UNIT, masked, masked) is Proof.NOT_YET


def test_reboot_is_proved_by_another_boot_alone() -> None:
    reboot = ACTIONS["reboot"]
    assert reboot.judge({}, {"boot_id": BOOT}, {"boot_id": BOOT}) is Proof.NOT_YET
    assert reboot.judge({}, {"boot_id": BOOT}, {"boot_id": OTHER}) is Proof.PROVEN
    assert reboot.patience({}) is None, "its deadline is the settings'"


@pytest.mark.parametrize(
    ("span", "seconds"), [("10s", 15), ("1min 30s", 135), ("100ms", 15), ("", 15), ("infinity", 15), ("1w", 5400)]
)
def test_proof_waits_longer_than_systemd_would(span: str, seconds: int) -> None:
    assert ACTIONS["disable_unit"].patience({"RestartUSec": span}) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("action", "before", "commands"),
    [
        ("disable_unit", LOOPING, ["enable", "start"]),
        ("disable_unit", OFF | {"UnitFileState": "enabled"}, ["enable"]),
        ("disable_unit", OFF, []),
        ("disable_unit", OFF | {"UnitFileState": "enabled-runtime"}, []),
        ("mask_unit", LOOPING, ["unmask", "start"]),
        ("mask_unit", OFF | {"LoadState": "masked"}, []),
        ("mask_unit", UNTIL_BOOT, ["unmask"]),
    ],
)
def test_undo_brings_back_what_was_recorded(action: str, before: dict[str, str], commands: list[str]) -> None:
    undone = [line for step in ACTIONS[action].inverse(UNIT, before) for line in step.commands]
    assert undone == [f"sudo -n systemctl {verb} -- ecs.service" for verb in commands]


@pytest.mark.parametrize(
    ("action", "args", "commands"),
    [
        ("disable_unit", UNIT, ["sudo -n systemctl disable --now -- ecs.service"]),
        ("mask_unit", {"unit": "x.service"}, ["sudo -n systemctl mask --now -- x.service"]),
        ("mask_unit", {"unit": "{unit} $(id).service"}, ["sudo -n systemctl mask --now -- '{unit} $(id).service'"]),
        ("start_unit", {"unit": "kubelet.service"}, ["sudo -n systemctl start -- kubelet.service"]),
        ("drop_caches", {}, ["sudo -n sysctl -w vm.drop_caches=3"]),
        (
            "restore_unit",
            UNIT | {"verbs": "enable start"},
            ["sudo -n systemctl enable -- ecs.service", "sudo -n systemctl start -- ecs.service"],
        ),
    ],
)
def test_commands_run_exactly_the_rights_through_sudo(action: str, args: dict[str, str], commands: list[str]) -> None:
    snapshot = Snapshot("n", datetime.now(UTC), timedelta(seconds=5))
    assert list(ACTIONS[action].commands(args, snapshot)) == commands


def test_what_it_runs_is_what_it_needs_as_root() -> None:
    for name in ("disable_unit", "mask_unit"):
        (argv,) = ACTIONS[name].rights_of(UNIT)
        assert argv[0] == "systemctl"
        assert argv[-2:] == ("--", "ecs.service")
    assert ACTIONS["reboot"].rights_of({}) == (("systemctl", "reboot"),)


@pytest.mark.parametrize("said", ["", "Id=ecs.service\n", "ActiveState=\nLoadState=loaded\n", "no such thing"])
def test_look_that_does_not_say_is_no_proof(said: str) -> None:
    outputs = Outputs(Completed("step", "unit", 0, said))
    with pytest.raises(CannotRead):
        ACTIONS["disable_unit"].facts(UNIT, outputs)
    with pytest.raises(CannotRead):
        ACTIONS["reboot"].facts({}, Outputs(Completed("step", "boot", 0, said)))


def test_restored_unit_is_as_each_verb_would_have_it() -> None:
    args = UNIT | {"verbs": "enable start"}
    restore = ACTIONS["restore_unit"]
    assert restore.judge(args, OFF, LOOPING) is Proof.PROVEN, "what crashed before crashes again"
    assert restore.judge(args, OFF, OFF | {"UnitFileState": "enabled"}) is Proof.NOT_YET
    assert restore.judge(args, OFF, LOOPING | {"UnitFileState": "disabled"}) is Proof.NOT_YET
    masked = OFF | {"LoadState": "masked", "UnitFileState": "masked"}
    assert restore.judge(UNIT | {"verbs": "unmask"}, masked, masked) is Proof.NOT_YET
    for unmasked in (OFF, UNTIL_BOOT):
        assert restore.judge(UNIT | {"verbs": "unmask"}, masked, unmasked) is Proof.PROVEN


@pytest.mark.parametrize("action", ["disable_unit", "mask_unit"])
def test_rights_of_the_inverse_are_its_commands(action: str) -> None:
    (step,) = ACTIONS[action].inverse(UNIT, LOOPING)
    assert ACTIONS[step.action].rights_of(step.args) == tuple(tuple(line.split()[2:]) for line in step.commands)
    at_rest = OFF | {"LoadState": "masked"}
    assert ACTIONS[action].inverse(UNIT, at_rest) == (), "nothing was changed, nothing is brought back"


@pytest.mark.parametrize(
    ("before", "now", "proof"),
    [
        ("68440", "312", Proof.PROVEN),
        ("68440", "61000", Proof.PROVEN),
        ("68440", "66000", Proof.NOT_YET),
        ("68440", "68440", Proof.NOT_YET),
        ("68440", "70000", Proof.NOT_YET),
        ("0", "0", Proof.NOT_YET),
        ("5", "4", Proof.NOT_YET),
    ],
)
def test_dropped_caches_are_proved_by_fewer_dying_cgroups_alone(before: str, now: str, proof: Proof) -> None:
    assert ACTIONS["drop_caches"].judge({}, {"dying": before}, {"dying": now}) is proof


RUNS = {"LoadState": "loaded", "ActiveState": "active", "SubState": "running", "NRestarts": "0"}


@pytest.mark.parametrize(
    ("before", "now", "proof"),
    [
        (OFF, RUNS, Proof.PROVEN),
        (OFF, {"LoadState": "loaded", "ActiveState": "active", "SubState": "running"}, Proof.PROVEN),  # before 235
        (OFF | {"NRestarts": "7"}, RUNS, Proof.PROVEN),
        (OFF, OFF, Proof.NOT_YET),
        (OFF, LOOPING, Proof.NOT_YET),
        (OFF, RUNS | {"NRestarts": "1"}, Proof.NOT_YET),  # it crashed, and systemd started it again
        (OFF, RUNS | {"ActiveState": "activating"}, Proof.NOT_YET),
        (RUNS | {"NRestarts": "7"}, RUNS | {"NRestarts": "7"}, Proof.PROVEN),  # it ran already
    ],
)
def test_started_unit_is_proved_by_running_without_having_been_started_again(
    before: dict[str, str], now: dict[str, str], proof: Proof
) -> None:
    assert ACTIONS["start_unit"].judge(UNIT, before, now) is proof


def test_start_is_one_exact_right_and_is_never_taken_back() -> None:
    start = ACTIONS["start_unit"]
    assert start.rights_of({"unit": "kubelet.service"}) == (("systemctl", "start", "--", "kubelet.service"),)
    assert start.inverse(UNIT, OFF) == ()
    assert "cannot be undone" in start.note
    assert (start.patience(RUNS) or timedelta(0)) >= timedelta(seconds=15), "two looks, apart"
    assert start.settles


def test_dropping_caches_is_one_line_that_sudo_can_list_and_has_no_undo() -> None:
    dropping = ACTIONS["drop_caches"]
    assert dropping.rights_of({}) == (("sysctl", "-w", "vm.drop_caches=3"),)
    assert acting_lines("zombie", dropping.rights_of({})) == (
        "zombie ALL=(root) NOPASSWD: /usr/sbin/sysctl -w vm.drop_caches\\=3",
        "zombie ALL=(root) NOPASSWD: /sbin/sysctl -w vm.drop_caches\\=3",
    )
    assert dropping.inverse({}, {}) == ()
    assert all(command.looks is SampleTimes.ONCE for command in dropping.looks({}))
