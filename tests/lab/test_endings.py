"""How acting ends on a real node when things go wrong; the node's own journal counts its boots.

The tests share one node, and each has a ledger of its own: what one did to the node is no first try of another's. They
stand in the order in which each leaves what the next one needs: a cured node, one that leaks from its boot on, nothing.
"""

import contextlib
import signal
import subprocess
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.lab.node import LabNode
from tests.lab.bench import Bench, answers, booted, dying, leaks
from tests.waiting import until

pytestmark = [
    pytest.mark.lab,
    pytest.mark.slow,
    pytest.mark.parametrize("small", ["v2"], indirect=True, scope="module"),
]

LONG = timedelta(minutes=15)
ZOMBIES = 3_500  # with the 18 KiB that the kernel itself holds of each, more than a tenth of the node's memory
PLAN = ["disable_unit", "reboot"]
# systemd-logind lets whoever holds a delay lock finish first: `systemctl reboot` ends well, and nothing happens.
SWALLOW = """
mkdir -p /run/systemd/logind.conf.d
printf '[Login]\\nInhibitDelayMaxSec=1h\\n' >/run/systemd/logind.conf.d/lab.conf
systemctl restart systemd-logind
systemd-run -q --unit=holder systemd-inhibit --what=shutdown --mode=delay --why=lab sleep infinity
until systemd-inhibit --list --no-pager | grep -q lab; do sleep 0.2; done
"""
# What a node's configuration management does to a unit that somebody disabled by hand.
ENABLE_AGAIN = """
cat >/etc/systemd/system/converge.service <<'END'
[Unit]
Description=Brings the node to what it is meant to be
After=ssh.service
[Service]
Type=oneshot
ExecStart=/bin/systemctl enable ecs.service
ExecStart=/bin/systemctl start --no-block ecs.service
[Install]
WantedBy=multi-user.target
END
systemctl daemon-reload; systemctl -q enable converge.service
"""


def opened(bench: Bench) -> str:
    """Let the node leak until it is short of memory, and return the incident with its plan.

    Kept waiting by this machine's other work, an emulated node may not tell in time what the plan hangs on.
    """
    leaks(bench, ZOMBIES)
    for _ in range(3):
        verdict = bench.check("--open")
        if verdict["plan"] and [step["action"] for step in verdict["plan"]["steps"]] == PLAN:
            return str(verdict["incident"])
    raise AssertionError("three checks, and none with the plan")


def kinds(told: dict[str, Any]) -> list[str]:
    return [entry["kind"] for entry in told["entries"]]


def is_off(node: LabNode) -> bool:
    return not node.run("systemctl -q is-enabled ecs.service || systemctl -q is-active ecs.service").ok


def is_gone(node: LabNode) -> bool:
    """True when no SSH server speaks there, three times over: a node that is kept waiting may miss one."""
    return not any(answers(node) for _ in range(3))


def test_killed_while_the_node_is_down_it_goes_on_and_reboots_nothing_twice(small: Bench) -> None:
    bench, node = replace(small, record="killed"), small.node()
    first, counted = booted(node)
    incident = opened(bench)
    words = bench.remediating(incident)
    with subprocess.Popen(
        bench.argv(*words), env=bench.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as acting:
        assert acting.stdout is not None
        assert any("StepVerified" in line for line in acting.stdout), "it ended before the unit was off"

        def node_is_gone() -> bool:
            with contextlib.suppress(subprocess.TimeoutExpired):
                acting.wait(0.5)  # the node's sshd has better to do than to greet all the time
            return acting.returncode is not None or is_gone(node)

        until(node_is_gone, within=LONG, what="the node's going down")
        assert acting.poll() is None
        acting.send_signal(signal.SIGKILL)
    told = bench.told(incident)
    assert kinds(told)[-1] == "StepStarted", "the reboot had begun and was not proved"
    assert kinds(told).count("StepStarted") == 2
    assert told["state"] == "acting"

    def taken_up() -> subprocess.CompletedProcess[str] | None:
        done = bench.zombie(*words, within=LONG)
        return None if "AlreadyDecided" in done.stderr else done  # not silent for long enough to be taken for dead

    done = until(taken_up, within=timedelta(minutes=2), what="the dead one's work to be free")
    assert done is not None
    print(done.stdout, done.stderr)
    assert (done.returncode, bench.told(incident)["state"]) == (0, "resolved")
    boot, boots = booted(node)
    assert boot != first
    assert boots == counted + 1
    assert is_off(node)
    assert dying(node) < 100
    assert bench.zombie("audit", "verify").returncode == 0


def test_unit_that_another_unit_enables_at_boot_is_acted_upon_but_not_fixed(small: Bench) -> None:
    bench, node = replace(small, record="enabled-again"), small.node()
    _, counted = booted(node)
    assert node.run(ENABLE_AGAIN).ok
    incident = opened(bench)
    done = bench.zombie(*bench.remediating(incident), within=LONG)
    print(done.stdout, done.stderr)
    told = bench.told(incident)
    assert node.run("systemctl -q disable converge.service; rm /etc/systemd/system/converge.service").ok
    assert (done.returncode, told["state"]) == (1, "escalated")
    assert "ecs.service does not hold" in told["entries"][-1]["body"]["because"]
    assert kinds(told)[6:9] == ["StepStarted", "StepVerified", "ValidationStarted"]
    assert booted(node)[1] == counted + 1, "rebooted once, and not once more when that did not help"


def test_reboot_that_never_comes_is_escalated_and_never_sent_again(small: Bench) -> None:
    bench, node = replace(small, record="swallowed"), small.node()
    was = booted(node)
    assert node.run(SWALLOW).ok
    written = bench.settings.read_text()
    try:
        bench.settings.write_text(written.replace('reboot_deadline = "10m"', 'reboot_deadline = "20s"'))
        incident = opened(bench)
        done = bench.zombie(*bench.remediating(incident), within=LONG)
        again = bench.zombie(*bench.remediating(incident))
    finally:
        bench.settings.write_text(written)
    print(done.stdout, done.stderr)
    told = bench.told(incident)
    assert (done.returncode, told["state"]) == (1, "escalated")
    assert kinds(told)[-2:] == ["StepFailed", "Escalated"]
    assert kinds(told).count("StepStarted") == 2, "one for each step: the reboot was sent once"
    assert (again.returncode, again.stderr.split(": ")[1]) == (1, "AlreadyDecided")
    assert booted(node) == was

    # The lock let go, the reboot that was accepted begins after all: it was swallowed, not lost.
    node.run("systemctl stop holder.service")
    until(lambda: is_gone(node), within=timedelta(minutes=3), what="the node's going down")
