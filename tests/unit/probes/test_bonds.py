"""Bonds and teams: what the drivers say of each port, and how it is asked for."""

from pathlib import Path

import pytest

from bot.probes.formats.bonds import BONDS, Bond, Port, parse_bonds
from tests.readings.node_tools import Way, every_shell, printed, tool

ACTIVE_BACKUP = """Ethernet Channel Bonding Driver: v5.14.0-427.13.1.el9_4.x86_64

Bonding Mode: fault-tolerance (active-backup)
Primary Slave: None
Currently Active Slave: eno1
MII Status: up
MII Polling Interval (ms): 100
Up Delay (ms): 0
Down Delay (ms): 0
Peer Notification Delay (ms): 0

Slave Interface: eno1
MII Status: up
Speed: 25000 Mbps
Duplex: full
Link Failure Count: 0
Permanent HW addr: b0:26:28:aa:00:01
Slave queue ID: 0

Slave Interface: eno2
MII Status: down
Speed: Unknown
Duplex: Unknown
Link Failure Count: 3
Permanent HW addr: b0:26:28:aa:00:02
Slave queue ID: 0
"""


def read(text: str) -> tuple[Bond, ...]:
    return parse_bonds(text.splitlines())


def port(name: str, carrier: str = "1", flags: str = "0x1803", ups: int = 1) -> str:
    return f"port {name} flags {flags} carrier {carrier} ups {ups}\n"


def test_port_that_lost_its_link_is_told_from_one_that_never_had_one_and_one_that_is_off() -> None:
    head = "-- bond bond0 flags 0x1403 --\nBonding Mode: load balancing (round-robin)\nMII Status: up\n"
    lost = "Slave Interface: a\nMII Status: down\nLink Failure Count: 3\n"
    never = "Slave Interface: b\nMII Status: down\nLink Failure Count: 0\n"
    off = "Slave Interface: c\nMII Status: down\nLink Failure Count: 1\n"
    ports = port("a", "0", ups=4) + port("b", "0", ups=0) + port("c", "?", "0x1802")
    (bond,) = read(head + lost + never + off + ports)
    assert (bond.name, bond.kind, bond.mode) == ("bond0", "bond", "load balancing (round-robin)")
    assert [(p.name, p.linked, p.had_link, p.switched_off) for p in bond.ports] == [
        ("a", False, True, False),
        ("b", False, False, False),
        ("c", False, True, True),
    ]
    assert [p.name for p in bond.lost] == ["a", "b"]


def test_bond_that_does_not_watch_its_links_is_not_believed() -> None:
    said = "-- bond bond0 flags 0x1403 --\nMII Status: up\nSlave Interface: a\nMII Status: up\nLink Failure Count: 0\n"
    (bond,) = read(said + port("a", "0"))
    assert bond.ports[0].unnoticed
    assert not bond.ports[0].linked


@pytest.mark.parametrize(
    "said",
    [
        "-- bond bond0 flags 0x1402 --\nMII Status: down\n",  # as the module makes it, without a port
        "-- bond bond0 flags 0x1403 --\nMII Status: down\n",
        "-- bond bond0 flags 0x1402 --\nMII Status: down\nSlave Interface: a\nMII Status: down\n",
        "",
    ],
)
def test_bond_that_is_off_or_has_no_port_is_none(said: str) -> None:
    assert read(said) == ()


@every_shell
def test_fragment_reads_bonds_and_teams_and_passes_over_bridges(shell: Way, tmp_path: Path) -> None:
    net, proc = tmp_path / "net", tmp_path / "proc"
    proc.mkdir()
    (proc / "bond0").write_text(ACTIVE_BACKUP)
    for name, flags, carrier, ups in (
        ("eno1", "0x1803", "1", "1"), ("eno2", "0x1803", "0", "3"), ("bond0", "0x1403", "1", "1"),
        ("veth1", "0x1303", "1", "1"), ("cni0", "0x1003", "1", "1"), ("p1", "0x1903", "0", "2"),
        ("team0", "0x1003", "1", "1"), ("vf0", "0x1803", "1", "1"), ("eth9", "0x1003", "1", "1"),
        ("pod1", "0x1303", "1", "1"), ("pod2", "0x1303", "1", "1"), ("ovs-system", "0x1002", "0", "0"),
    ):  # fmt: skip
        (net / name).mkdir(parents=True)
        for file, text in (("flags", flags), ("carrier", carrier), ("carrier_up_count", ups), ("ifindex", "7")):
            (net / name / file).write_text(text + "\n")
        (net / name / "uevent").write_text(f"INTERFACE={name}\nIFINDEX=7\n")
    (net / "bond0" / "bonding").mkdir()
    (net / "bond0" / "bonding" / "slaves").write_text("eno1 eno2\n")
    (net / "cni0" / "bridge").mkdir()
    (net / "eth9" / "device").mkdir()  # a card whose virtual function stands in for it
    masters = {"eno1": "bond0", "eno2": "bond0", "veth1": "cni0", "p1": "team0", "vf0": "eth9"}
    masters |= {"pod1": "ovs-system", "pod2": "ovs-system"}
    for member, master in masters.items():
        (net / member / "master").symlink_to(net / master)
    says = '[ "$2" = team0 ] && echo "driver: team" || echo "driver: openvswitch"'
    tool(tmp_path / "ethtool", f'echo "called $2" >>"$0.log"\n{says}')
    script = BONDS.replace("/sys/class/net", str(net)).replace("/proc/net/bonding", str(proc))
    bond, team = read(printed(script, shell, tmp_path))
    assert (bond.name, bond.mode) == ("bond0", "fault-tolerance (active-backup)")
    assert [(p.name, p.linked, p.failures) for p in bond.ports] == [("eno1", True, 0), ("eno2", False, 3)]
    gone = Port("p1", False, had_link=True, lines=("p1: flags 0x1903, carrier 0, carrier_up_count 2",))
    assert team == Bond("team0", "team", "", (gone,))
    assert (tmp_path / "ethtool.log").read_text() == "called team0\ncalled ovs-system\n"  # not for each of its ports
