"""How acting ends on a real node when things go wrong; the node's own journal counts its boots.

The tests share one node, and each has a ledger of its own: what one did to the node is no first try of another's.
"""

import signal
import subprocess
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.lab.lab import await_boot
from bot.lab.node import LabNode
from tests.lab.bench import Bench, answers, boot_id, boots, dying, leaks
from tests.waiting import until

pytestmark = [
    pytest.mark.lab,
    pytest.mark.slow,
    pytest.mark.parametrize("small", ["v2"], indirect=True, scope="module"),
]

LONG = timedelta(minutes=15)
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
    """Let the node leak until it is short of memory, and return the incident with its plan."""
    leaks(bench)
    verdict = bench.check_all("--open")
    assert [step["action"] for step in verdict["plan"]["steps"]] == ["disable_unit", "reboot"], verdict["summary"]
    incident: str = verdict["incident"]
    return incident


def kinds(bench: Bench, incident: str) -> list[str]:
    return [entry["kind"] for entry in bench.told(incident)["entries"]]


def is_off(node: LabNode) -> bool:
    return not node.run("systemctl -q is-enabled ecs.service || systemctl -q is-active ecs.service").ok


def test_reboot_that_never_comes_is_escalated_and_never_sent_again(small: Bench) -> None:
    bench, node = replace(small, record="swallowed"), small.node()
    first, counted = boot_id(node), boots(node)
    assert node.run(SWALLOW).ok
    written = bench.settings.read_text()
    try:
        bench.settings.write_text(written.replace('reboot_deadline = "10m"', 'reboot_deadline = "45s"'))
        incident = opened(bench)
        done = bench.zombie(*bench.remediating(incident), within=LONG)
        again = bench.zombie(*bench.remediating(incident))
    finally:
        bench.settings.write_text(written)
    print(done.stdout, done.stderr)
    told = bench.told(incident)
    assert (done.returncode, told["state"]) == (1, "escalated")
    assert kinds(bench, incident)[-2:] == ["StepFailed", "Escalated"]
    assert kinds(bench, incident).count("StepStarted") == 2, "one for each step: the reboot was sent once"
    assert (boot_id(node), boots(node)) == (first, counted)
    assert (again.returncode, again.stderr.split(": ")[1]) == (1, "AlreadyDecided")

    # The lock let go, the reboot that was accepted comes after all: it was swallowed, not lost.
    node.run("systemctl stop holder.service")
    assert await_boot(node, first) != first
    assert boots(node) == counted + 1
    bench.fault("leaked-memory-cgroups", "--undo")


def test_unit_that_another_unit_enables_at_boot_is_acted_upon_but_not_fixed(small: Bench) -> None:
    bench, node = replace(small, record="enabled-again"), small.node()
    counted = boots(node)
    assert node.run(ENABLE_AGAIN).ok
    incident = opened(bench)
    done = bench.zombie(*bench.remediating(incident), within=LONG)
    print(done.stdout, done.stderr)
    told = bench.told(incident)
    node.run("systemctl -q disable converge.service; rm /etc/systemd/system/converge.service")
    bench.fault("leaked-memory-cgroups", "--undo")
    assert (done.returncode, told["state"]) == (1, "escalated")
    assert "ecs.service does not hold" in told["entries"][-1]["body"]["because"]
    assert kinds(bench, incident)[6:9] == ["StepStarted", "StepVerified", "ValidationStarted"]
    assert boots(node) == counted + 1, "rebooted once, and not once more when that did not help"


def test_killed_while_the_node_is_down_it_goes_on_and_reboots_nothing_twice(small: Bench) -> None:
    bench, node = replace(small, record="killed"), small.node()
    first, counted = boot_id(node), boots(node)
    incident = opened(bench)
    words = bench.remediating(incident)
    with subprocess.Popen(
        bench.argv(*words), env=bench.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as acting:
        until(lambda: kinds(bench, incident).count("StepStarted") == 2, within=LONG, what="the reboot's beginning")
        until(lambda: not any(answers(node) for _ in range(3)), within=LONG, what="the node's going down")
        assert acting.poll() is None
        acting.send_signal(signal.SIGKILL)
    assert kinds(bench, incident)[-1] == "StepStarted", "the reboot had begun and was not proved"
    assert bench.told(incident)["state"] == "acting"

    def taken_up() -> subprocess.CompletedProcess[str] | None:
        done = bench.zombie(*words, within=LONG)
        return None if "AlreadyDecided" in done.stderr else done  # not silent for long enough to be taken for dead

    done = until(taken_up, within=timedelta(minutes=2), what="the dead one's work to be free")
    assert done is not None
    print(done.stdout, done.stderr)
    assert (done.returncode, bench.told(incident)["state"]) == (0, "resolved")
    assert boot_id(node) != first
    assert boots(node) == counted + 1
    assert is_off(node)
    assert dying(node) < 100
    assert bench.zombie("audit", "verify").returncode == 0
