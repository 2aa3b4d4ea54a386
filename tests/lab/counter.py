"""A node that writes down for itself, second by second and across its reboots, how many zombies it has."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bot.lab.node import LabNode

PROGRAM = Path(__file__).with_name("counter.pl").read_text()
FILE = "/var/lib/lab-counts.csv"
UNIT = """[Unit]
Description=Counts removed memory cgroups
[Service]
ExecStart=/usr/bin/perl /usr/local/lib/counter.pl
[Install]
WantedBy=multi-user.target
"""


@dataclass(frozen=True)
class Count:
    """What the node knew at one moment, by its own clock."""

    at: datetime
    boot_id: str
    dying: int
    enabled: bool


def start(node: LabNode) -> None:
    """Let the node begin to count."""
    done = node.run(
        f"cat >/usr/local/lib/counter.pl <<'END'\n{PROGRAM}END\n"
        f"cat >/etc/systemd/system/counter.service <<'END'\n{UNIT}END\n"
        "systemctl daemon-reload; systemctl -q enable --now counter.service"
    )
    assert done.ok, done.stderr


def counts(node: LabNode) -> list[Count]:
    """Return what it has counted until now."""
    rows = [line.split(",") for line in node.run(f"cat {FILE}").stdout.splitlines()]
    return [
        Count(datetime.fromtimestamp(float(at), UTC), boot, int(dying), enabled == "1")
        for at, boot, dying, enabled in rows
    ]
