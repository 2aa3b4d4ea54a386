"""What stops with a unit is read from the node, through every level, and a protected one among it is refused."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.actions import ACTIONS
from bot.actions.dependents import MOST, STOPS, Dependents
from bot.demo.fleet_leaks import AUTO_RESTART
from bot.demo.machine.changes import after_systemctl
from bot.demo.machine.machine import Machine
from bot.demo.machine.state import Unit
from bot.domain.command import Completed, Outputs
from bot.domain.errors import CannotRead, ProtectedUnit, WouldStopProtected
from tests.readings.node_tools import Way, every_shell

ECS = {"unit": "ecs.service"}

# A systemctl that tells of the units in files of their names, as the real one does: blocks with a blank line between.
# What is in NAME.file stands in the unit's file.
SYSTEMCTL = """#!/bin/sh
if [ "$1 $2 $3" = "cat --no-pager --" ]; then
  [ $# = 4 ] || exit 7
  [ ! -e "{folder}/$4.unreadable" ] || exit 1
  echo "# /etc/systemd/system/$4"
  cat "{folder}/$4.file" 2>/dev/null
  exit 0
fi
[ "$1 $2 $3" = "show --no-pager -p" ] || exit 9
[ "$5" = -- ] || exit 8
echo "$*" >>{folder}/asked
shift 5
first=1
for unit; do
  [ -n "$first" ] || echo
  first=
  printf 'Id=%s\\nNames=%s\\n' "$unit" "$unit"
  cat "{folder}/$unit" 2>/dev/null
done
exit 0
"""


def on_node(folder: Path, units: dict[str, str], shell: Way = ("sh",), masks: bool = False) -> Completed:
    """What a node with these dependencies prints to the look."""
    program = folder / "systemctl"
    program.write_text(SYSTEMCTL.format(folder=folder))
    program.chmod(0o755)
    for name, told in units.items():
        (folder / name).write_text(told + "\n")
    (command,) = Dependents(masks).looks(ECS)
    argv = tuple(word.replace("/etc/systemd/system/", f"{folder}/etc/systemd/system/") for word in command.argv)
    done = subprocess.run(
        [*shell, *argv[1:]],
        capture_output=True,
        text=True,
        timeout=30,
        env={"PATH": f"{folder}:/usr/bin:/bin"},
        check=False,
    )
    assert done.stderr == ""
    return Completed("also, step 1", "dependents", 0, done.stdout, "", done.returncode)


def affects(told: Completed, masks: bool = False) -> str:
    return Dependents(masks).affects(ECS, Outputs(told))


@every_shell
@pytest.mark.parametrize("kind", STOPS)
def test_every_kind_of_dependency_is_followed_to_the_last_level(tmp_path: Path, shell: Way, kind: str) -> None:
    units = {"ecs.service": f"{kind}=b.service", "b.service": f"{kind}=c\\x2dd.service a.service"}
    told = on_node(tmp_path, units | {"a.service": "RequiredBy=ecs.service b.service"}, shell)
    assert affects(told) == "with ecs.service stop a.service, b.service, c\\x2dd.service"
    asked = [line for line in (tmp_path / "asked").read_text().splitlines() if "RequiredBy" in line]
    assert len(asked) == 3, "one question a level"


@pytest.mark.parametrize("masks", [False, True])
@pytest.mark.parametrize("name", ["ssh.service", "k3s-agent.service", "multi-user.target", "wg-quick@wg0.service"])
def test_protected_unit_at_the_end_of_a_chain_is_refused_by_its_name(tmp_path: Path, masks: bool, name: str) -> None:
    told = on_node(tmp_path, {"ecs.service": "RequiredBy=a.service", "a.service": f"BoundBy={name}"})
    with pytest.raises(WouldStopProtected, match=rf"With ecs\.service would stop {name}: "):
        affects(told, masks)


def test_protected_unit_is_known_by_every_name_it_has(tmp_path: Path) -> None:
    told = on_node(
        tmp_path, {"ecs.service": "RequiredBy=door.service", "door.service": "Names=door.service sshd.service"}
    )
    with pytest.raises(WouldStopProtected, match=r"door\.service"):
        affects(told)


def test_what_starts_it_again_is_named_and_what_only_wants_it_is_not(tmp_path: Path) -> None:
    told = on_node(tmp_path, {"ecs.service": "WantedBy=ssh.service\nTriggeredBy=ecs.timer ecs.path"})
    assert affects(told) == "ecs.path, ecs.timer can start ecs.service again"
    assert affects(told, masks=True) == "ecs.path, ecs.timer can no longer start it"


def test_what_requires_a_masked_unit_is_said_not_to_start(tmp_path: Path) -> None:
    told = on_node(tmp_path, {"ecs.service": "RequiredBy=a.service"})
    assert affects(told) == "with ecs.service stops a.service"
    assert affects(told, masks=True) == (
        "with ecs.service stops a.service; what requires ecs.service cannot start until it is unmasked"
    )


def test_unit_that_nothing_stands_on_stops_alone(tmp_path: Path) -> None:
    assert affects(on_node(tmp_path, {"ecs.service": "RequiredBy=\nBoundBy=\nTriggeredBy="})) == ""
    assert affects(on_node(tmp_path, {"ecs.service": ""})) == "", "old systemd prints no empty property"


FILE = """[Unit]
Description=It says Also=nothing.service here

[Install]
WantedBy=multi-user.target
#Also=off.service
Also=ecs.socket \\
  b.timer
# /etc/systemd/system/ecs.service.d/more.conf
[Install]
 Also = c\\x2dd.path ecs.service
"""


@every_shell
def test_what_is_disabled_with_it_is_read_from_its_file_and_drop_ins_and_named(tmp_path: Path, shell: Way) -> None:
    files = {"ecs.service.file": FILE, "b.timer.file": "[Install]\nAlso=ecs.socket last.service"}
    told = on_node(tmp_path, files | {"ecs.service": "RequiredBy=a.service"}, shell)
    assert affects(told) == (
        "with ecs.service stops a.service; "
        "with ecs.service are disabled b.timer, c\\x2dd.path, ecs.socket, last.service"
    )
    masked = affects(on_node(tmp_path, files, shell, masks=True), masks=True)
    assert masked.startswith("with ecs.service stops a.service; ")
    assert "disabled" not in masked


def test_protected_unit_that_would_be_disabled_with_it_is_refused_by_every_name(tmp_path: Path) -> None:
    units = {"door.socket": "Names=door.socket ssh.socket", "ecs.service.file": "Also=a.service door.socket"}
    with pytest.raises(WouldStopProtected, match=r"With ecs\.service would be disabled door\.socket: after the next"):
        affects(on_node(tmp_path, units))


def test_unit_that_is_to_be_disabled_with_it_and_does_not_exist_is_nothing(tmp_path: Path) -> None:
    units = {"gone.service": "LoadState=not-found", "gone.service.unreadable": ""}
    assert affects(on_node(tmp_path, units | {"ecs.service.file": "[Install]\nAlso=gone.service"})) == ""


def node_root(folder: Path) -> dict[str, Path]:
    """Folders of a node, with a unit of its own, one of the distribution's and two that lie elsewhere."""
    own, shipped, opt = (folder / path for path in ("etc/systemd/system", "usr/lib/systemd/system", "opt"))
    unit = "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"
    for path in (own / "own.service", shipped / "shipped.service", opt / "ecs.service", opt / "also.service"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(unit)
    return {"own.service": own, "shipped.service": shipped, "ecs.service": opt, "also.service": opt}


@every_shell
def test_unit_that_no_enable_finds_again_is_not_disabled(tmp_path: Path, shell: Way) -> None:
    paths = node_root(tmp_path)
    own = paths["own.service"]
    (own / "ecs.service").symlink_to(own / "own.service")  # an alias
    with pytest.raises(ProtectedUnit, match=r"^ecs\.service would lose its link"):
        affects(on_node(tmp_path, {}, shell))
    (own / "ecs.service").unlink()
    (paths["shipped.service"] / "ecs.service").touch()
    (own / "ecs.service").symlink_to(paths["shipped.service"] / "ecs.service")
    assert affects(on_node(tmp_path, {}, shell)) == "", "found there without the link"
    (own / "ecs.service").unlink()
    (own / "also.service").symlink_to(paths["also.service"] / "also.service")
    assert affects(on_node(tmp_path, {}, shell)) == ""
    with pytest.raises(ProtectedUnit, match=r"^also\.service would lose its link"):
        affects(on_node(tmp_path, {"ecs.service.file": "[Install]\nAlso=also.service"}, shell))


@pytest.mark.skipif(shutil.which("systemctl") is None, reason="needs systemctl")
def test_real_systemctl_loses_a_linked_unit_and_leaves_what_is_enabled_in_run(tmp_path: Path) -> None:
    def systemctl(*words: str) -> str:
        done = subprocess.run(
            ["systemctl", f"--root={tmp_path}", *words], capture_output=True, text=True, timeout=30, check=False
        )
        return done.stdout.strip() or ("done" if done.returncode == 0 else "refused")

    node_root(tmp_path)
    for unit, again in {"own.service": "done", "shipped.service": "done", "/opt/ecs.service": "refused"}.items():
        name = Path(unit).name
        assert [systemctl("enable", unit), systemctl("is-enabled", name)] == ["done", "enabled"]
        assert [systemctl("disable", name), systemctl("enable", name)] == ["done", again]
    assert systemctl("disable", "shipped.service") == "done"
    assert systemctl("enable", "--runtime", "shipped.service") == "done"
    assert [systemctl(word, "shipped.service") for word in ("disable", "is-enabled")] == ["done", "enabled-runtime"]
    assert [systemctl(word, "shipped.service") for word in ("mask", "is-enabled")] == ["done", "masked"]
    assert [systemctl(word, "shipped.service") for word in ("unmask", "is-enabled")] == ["done", "enabled-runtime"]


@pytest.mark.parametrize(
    "units",
    [
        {"ecs.service.unreadable": ""},
        {"ecs.service.file": "Also=b.service", "b.service.unreadable": ""},
        {"ecs.service.file": "Also=%p.socket"},
        {"ecs.service.file": "Also=$(touch${IFS}ran) `touch${IFS}ran` * ;touch\tran"},
        {"ecs.service.file": "Also=u0.service"} | {f"u{n}.service.file": f"Also=u{n + 1}.service" for n in range(20)},
        {"ecs.service.file": "Also=" + " ".join(f"u{n}.service" for n in range(MOST + 1))},
    ],
    ids=["unreadable", "one of them unreadable", "specifier", "no unit", "deep", "many"],
)
def test_where_what_is_disabled_with_it_is_not_told_it_is_unread(tmp_path: Path, units: dict[str, str]) -> None:
    with pytest.raises(CannotRead, match=r"ecs\.service"):
        affects(on_node(tmp_path, units))
    assert not list(tmp_path.glob("*ran*"))


@pytest.mark.parametrize(
    "units",
    [
        {"ecs.service": "RequiredBy=u0.service"} | {f"u{n}.service": f"RequiredBy=u{n + 1}.service" for n in range(20)},
        {"ecs.service": "RequiredBy=" + " ".join(f"u{n}.service" for n in range(MOST + 1))},
        {"ecs.service": "RequiredBy=" + " ".join(f"u{n}.service" for n in range(900))},
        {"ecs.service": "RequiredBy=" + " ".join(f"{n}{'u' * 240}.service" for n in range(3))},
    ],
    ids=["deep", "many", "very-many", "long"],
)
def test_more_than_can_be_shown_is_unread_and_never_nothing(tmp_path: Path, units: dict[str, str]) -> None:
    with pytest.raises(CannotRead, match=r"ecs\.service"):
        affects(on_node(tmp_path, units))


def test_node_that_names_what_can_be_no_unit_makes_nothing_run_and_is_unread(tmp_path: Path) -> None:
    units = {"ecs.service": "RequiredBy=$(touch${IFS}ran) `touch${IFS}ran` * ;touch\\tran <!channel>"}
    with pytest.raises(CannotRead, match="an invalid unit"):
        affects(on_node(tmp_path, units))
    assert not list(tmp_path.glob("*ran*"))


@pytest.mark.parametrize(
    "said",
    [
        "",
        "-- all told --\n",
        "Id=ecs.service\nNames=ecs.service\n",
        "Id=ecs.service\nNames=ecs.service\nRequiredBy=a.service\n\n-- all told --\n",
        "Id=other.service\nNames=other.service\n\n-- all told --\n",
        "Failed to connect to bus: No such file or directory\n-- all told --\n",
    ],
)
def test_answer_that_does_not_say_is_unread(said: str) -> None:
    with pytest.raises(CannotRead):
        affects(Completed("also, step 1", "dependents", 0, said))


def test_node_without_systemctl_is_unread() -> None:
    (command,) = Dependents().looks(ECS)
    argv, env = ("/bin/sh", *command.argv[1:]), {"PATH": "/nowhere"}
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, env=env, check=False)
    with pytest.raises(CannotRead):
        affects(Completed("also, step 1", "dependents", 0, done.stdout, done.stderr, done.returncode))


def test_every_action_that_stops_a_unit_reads_what_stops_with_it() -> None:
    stopping = [action for action in ACTIONS.values() if action.stops_a_unit]
    assert {action.name for action in stopping} == {"disable_unit", "mask_unit"}
    assert all(action.around is not None for action in stopping)


async def test_simulated_node_disables_what_it_says() -> None:
    also = (Unit("ecs.socket", also=("b.timer",)), Unit("b.timer"), Unit("c.timer"))
    units = (replace(unit, also=("ecs.socket",)) if unit.name == "ecs.service" else unit for unit in AUTO_RESTART.units)
    state = replace(AUTO_RESTART, units=(*units, *also))
    machine = Machine(state, datetime.now(UTC), lambda: 0.0)
    (command,) = Dependents().looks(ECS)
    answer = await machine.run(command.argv)
    told = Completed("", "dependents", 0, answer.stdout.decode())
    assert affects(told) == "with ecs.service are disabled b.timer, ecs.socket"
    after = {
        unit.name: (unit.enabled, unit.active)
        for unit in after_systemctl(state, state, "disable", "ecs.service", machine.now()).units
    }
    assert (after["b.timer"], after["ecs.socket"]) == (("disabled", "active"),) * 2
    assert after["c.timer"] == ("enabled", "active")


async def test_simulated_node_says_and_does_the_same() -> None:
    standing = (
        Unit("a.service", requires=("ecs.service",)),
        Unit("b.service", binds_to=("a.service",)),
        Unit("c.service", part_of=("b.service",)),
        Unit("d.service", stops_with=("ecs.service",)),
    )
    older, newer = "a.service, b.service, c.service", "a.service, b.service, c.service, d.service"
    for version, stops in ((219, older), (252, newer)):
        state = replace(AUTO_RESTART, units=(*AUTO_RESTART.units, *standing[: 3 if version < 249 else 4]))
        machine = Machine(replace(state, system=replace(state.system, systemd=version)), datetime.now(UTC), lambda: 0.0)
        (command,) = Dependents().looks(ECS)
        answer = await machine.run(command.argv)
        assert affects(Completed("", "dependents", 0, answer.stdout.decode())) == f"with ecs.service stop {stops}"
        after = after_systemctl(state, state, "disable", "ecs.service", machine.now())
        assert {unit.active for unit in after.units if unit.name in f"ecs.service, {stops}".split(", ")} == {"inactive"}
        assert sum(unit.active == "inactive" for unit in after.units) == 1 + len(stops.split(", "))
