"""What obviously changes a node is no probe; what reads is."""

import re
from pathlib import Path

import pytest

from bot.library.read_only import writing_fault
from tests.known import known


@pytest.mark.parametrize(
    "command",
    [
        "df -P /",
        "cat /proc/meminfo",
        "head -n 5 /proc/net/dev",
        "ls -la /var/lib/kubelet",
        "find /var/log -name *.gz -size +1M",
        "stat -c %h /sys/fs/cgroup",
        "systemctl list-jobs",
        "systemctl status",
        "systemctl --no-pager show ecs.service -p NRestarts",
        "systemctl -p NRestarts show ecs.service",
        "systemctl list-units --failed",
        "docker ps -a --format {{.ID}}",
        "docker --host unix:///run/docker.sock ps",
        "kubectl -n kube-system get pods",
        "crictl pods",
        "ip -s -j link show",
        "ethtool -S eth0",
        "ethtool -i eth0",
        "sysctl -n net.netfilter.nf_conntrack_count",
        "nvidia-smi --query-gpu=temperature.gpu --format=csv",
        "nvidia-smi -q",
        "smartctl -H /dev/nvme0",
        "nvme smart-log /dev/nvme0",
        "journalctl -u ecs -n 100 --no-pager -o json",
        "iptables -S",
        "curl -s http://127.0.0.1:10248/healthz",
        "chronyc tracking",
        "dmesg --level err",
        "date +%s",
        "/opt/vendor/bin/show-temperature --json",
    ],
)
def test_reading_command_is_taken(command: str) -> None:
    assert writing_fault(command.split()) is None


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("rm -rf /", "rm writes; a probe only reads"),
        ("/bin/rm x", "rm writes"),
        ("../../bin/rm x", "rm writes"),
        ("reboot", "reboot changes or loads the node"),
        ("kill -9 1", "kill changes or loads the node"),
        ("dd if=/dev/zero of=/dev/sda", "dd writes"),
        ("tee /etc/passwd", "tee writes"),
        ("mkfs.ext4 /dev/sda", "mkfs.ext4 writes"),
        ("sh -c true", "sh runs other programs"),
        ("/bin/bash script", "bash runs other programs"),
        ("python3.11 -c 1", "python3.11 runs programs"),
        ("python3 -c 1", "python3 runs programs"),
        ("perl5.36 -e 1", "perl5.36 runs programs"),
        ("awk {print}", "awk runs programs"),
        ("sed -n 1p /proc/stat", "sed runs programs"),
        ("vim.tiny x", "vim.tiny runs programs"),
        ("sudo cat /etc/shadow", "sudo runs other programs"),
        ("env X=1 rm", "env runs other programs"),
        ("xargs rm", "xargs runs other programs"),
        ("timeout 5 cat /x", "timeout runs other programs"),
        ("nice cat /x", "nice runs other programs"),
        ("ssh other uptime", "ssh reaches other machines"),
        ("wget http://x", "wget reaches other machines"),
        ("systemctl stop ecs", "systemctl stop is not one of the read-only verbs: status, show"),
        ("systemctl --now disable ecs", "systemctl ecs is not one of the read-only verbs"),
        ("systemctl daemon-reload", "systemctl daemon-reload is not one of"),
        ("docker rm x", "docker rm is not one of"),
        ("docker run -d x", "docker run is not one of"),
        ("docker", "docker needs a read-only verb"),
        ("kubectl delete pod x", "kubectl delete is not one of"),
        ("kubectl -n x drain y", "kubectl drain is not one of"),
        ("find / -delete", "find -delete writes or never ends"),
        ("find / -exec rm {} ;", "find -exec writes"),
        ("curl -o /etc/x http://y", "curl -o writes"),
        ("curl -X POST http://y", "curl -X writes"),
        ("curl --data=1 http://y", "curl --data=1 writes"),
        ("sysctl -w vm.drop_caches=3", "sysctl NAME=VALUE sets it"),
        ("sysctl vm.drop_caches=3", "sysctl NAME=VALUE sets it"),
        ("ip link set eth0 down", "ip set writes"),
        ("ip netns exec x rm", "ip netns writes"),
        ("ethtool -K eth0 gro off", "ethtool -K writes"),
        ("journalctl --vacuum-size=1M", "journalctl --vacuum-size=1M writes"),
        ("journalctl -f", "journalctl -f writes or never ends"),
        ("tail -f /var/log/syslog", "tail -f writes or never ends"),
        ("dmesg -C", "dmesg -C writes"),
        ("date -s tomorrow", "date -s writes"),
        ("nvidia-smi --gpu-reset", "nvidia-smi --gpu-reset writes"),
        ("iptables -F", "iptables -F writes"),
        ("conntrack -F", "conntrack -F writes"),
    ],
)
def test_command_that_changes_the_node_is_refused(command: str, says: str) -> None:
    fault = known(writing_fault(command.split()))
    assert fault.startswith(says)


def ways_around() -> list[str]:
    """The examples in docs/playbooks.md of what the list does not catch."""
    text = (Path(__file__).parents[3] / "docs" / "playbooks.md").read_text()
    rows = text.partition("Ways around it")[2].partition("| what | for example |\n")[2].partition("\n\n")[0]
    return [command for row in rows.splitlines()[1:] for command in re.findall(r"`([^`]+)`", row)]


def test_ways_around_the_list_are_told() -> None:
    assert len(ways_around()) > 10


@pytest.mark.parametrize("command", ways_around())
def test_way_around_that_is_told_is_one(command: str) -> None:
    assert writing_fault(command.split()) is None, "no longer a way around: take it out of docs/playbooks.md"
