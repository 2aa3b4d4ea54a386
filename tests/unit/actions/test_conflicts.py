"""What a start starts and stops beside its unit is read from the node, and refused where a protected one would stop."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.actions.conflicts import AGAINST, STARTS, Conflicts
from bot.actions.dependents import MOST
from bot.demo.fleet_other_faults import KUBELET_STOPPED
from bot.demo.machine.machine import Machine
from bot.domain.command import Completed, Outputs
from bot.domain.errors import CannotRead, WouldStopProtected
from tests.readings.node_tools import Way, every_shell
from tests.unit.actions.test_dependents import SYSTEMCTL

KUBELET = {"unit": "kubelet.service"}
STOPPED, RUNS = "LoadState=loaded\nActiveState=inactive\n", "LoadState=loaded\nActiveState=active\n"
NOT_THERE = "LoadState=not-found\nActiveState=inactive\n"


def on_node(folder: Path, units: dict[str, str], shell: Way = ("sh",)) -> Completed:
    """What a node with these units prints to the look; one that is not among them is printed by its name alone."""
    program = folder / "systemctl"
    program.write_text(SYSTEMCTL.format(folder=folder))
    program.chmod(0o755)
    for name, told in units.items():
        (folder / name).write_text(told + "\n")
    (command,) = Conflicts().looks(KUBELET)
    words = [*shell, *command.argv[1:]]
    path = {"PATH": f"{folder}:/usr/bin:/bin"}
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, env=path, check=False)
    assert done.stderr == ""
    return Completed("also, step 1", "conflicts", 0, done.stdout, "", done.returncode)


def affects(told: Completed) -> str:
    return Conflicts().affects(KUBELET, Outputs(told))


@every_shell
@pytest.mark.parametrize("kind", STARTS)
def test_what_starts_with_it_is_followed_and_what_runs_is_not(tmp_path: Path, shell: Way, kind: str) -> None:
    units = {
        "kubelet.service": f"{STOPPED}{kind}=a.service sysinit.target\nConflicts=shutdown.target",
        "a.service": f"{STOPPED}{kind}=b\\x2dc.service gone.service\nConflicts=shutdown.target",
        "b\\x2dc.service": STOPPED,
        "gone.service": NOT_THERE,
        "sysinit.target": f"{RUNS}{kind}=never-asked.service\nConflicts=emergency.service",
        "shutdown.target": STOPPED,
    }
    assert affects(on_node(tmp_path, units, shell)) == "with kubelet.service start a.service, b\\x2dc.service"
    asked = (tmp_path / "asked").read_text()
    assert "never-asked" not in asked
    assert len(asked.splitlines()) == 4, "one question a level, and one for what is excluded"


@pytest.mark.parametrize("kind", AGAINST)
def test_what_runs_and_is_excluded_is_told_whoever_excludes_it(tmp_path: Path, kind: str) -> None:
    units = {
        "kubelet.service": f"{STOPPED}Wants=a.service\n{kind}=old.service rests.service",
        "a.service": f"{STOPPED}{kind}=other.service",
        "old.service": RUNS,
        "other.service": RUNS.replace("active", "activating", 1),
        "rests.service": STOPPED,
    }
    said = affects(on_node(tmp_path, units))
    assert said == "with kubelet.service starts a.service; for kubelet.service stop old.service, other.service"


@pytest.mark.parametrize(
    ("excluded", "told"),
    [("ssh.service", RUNS), ("x.service", RUNS + "Names=x.service containerd.service")],
)
def test_protected_unit_that_would_stop_refuses_the_start_by_name(tmp_path: Path, excluded: str, told: str) -> None:
    units = {"kubelet.service": f"{STOPPED}Conflicts={excluded}", excluded: told}
    with pytest.raises(WouldStopProtected, match=f"For kubelet.service systemd would stop {excluded}"):
        affects(on_node(tmp_path, units))
    (tmp_path / excluded).write_text(told.replace("=active", "=inactive"))
    assert affects(on_node(tmp_path, {})) == "", "what rests is not stopped"


@pytest.mark.parametrize(
    "told",
    [
        "",
        "-- all told --\n",
        "Id=kubelet.service\nActiveState=inactive\n",  # cut short
        "Id=other.service\nActiveState=inactive\n\n-- all told --\n",
        f"Id=kubelet.service\n{STOPPED}Conflicts=a.service\n\n-- all told --\n",  # and a.service?
        f"Id=kubelet.service\n{STOPPED}Conflicts=a.service\n\nId=a.service\n\n-- all told --\n",  # does it run?
        f"Id=kubelet.service\n{STOPPED}Wants=a.service\n\n-- all told --\n",
        f"Id=kubelet.service\n{STOPPED}Wants=<!channel>\n\nId=<!channel>\n\n-- all told --\n",
    ],
)
def test_node_that_does_not_say_is_not_acted_upon(told: str) -> None:
    with pytest.raises(CannotRead):
        affects(Completed("also, step 1", "conflicts", 0, told))


def test_more_than_a_card_shows_and_a_chain_without_end_are_not_acted_upon(tmp_path: Path) -> None:
    many = " ".join(f"u{number}.service" for number in range(MOST + 1))
    units = {"kubelet.service": f"{STOPPED}Wants={many}", **dict.fromkeys(many.split(), STOPPED)}
    with pytest.raises(CannotRead, match="starts and stops more units"):
        affects(on_node(tmp_path, units))
    chain = {f"c{number}.service": f"{STOPPED}Wants=c{number + 1}.service" for number in range(12)}
    with pytest.raises(CannotRead):
        affects(on_node(tmp_path, {**chain, "kubelet.service": f"{STOPPED}Wants=c0.service"}))


async def test_simulated_node_answers_as_a_real_one(tmp_path: Path) -> None:
    requires = tuple(
        replace(unit, requires=("containerd.service",)) if unit.name == "kubelet.service" else unit
        for unit in KUBELET_STOPPED.units
    )
    machine = Machine(replace(KUBELET_STOPPED, units=requires), datetime.now(UTC), lambda: 0.0)
    (command,) = Conflicts().looks(KUBELET)
    answer = await machine.run(command.argv)
    assert affects(Completed("also, step 1", "conflicts", 0, answer.stdout.decode())) == "", "containerd runs"
