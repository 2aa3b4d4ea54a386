"""Cases of bonds and teams, as the bonding driver and sysfs tell of them."""

from __future__ import annotations

from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import amazon2, database, gpu_node, metal, rhel7, rocky8
from tests.independent.label import Label, near, sick
from tests.independent.machine import Machine

_FLAGS = {"up": "0x1803", "down": "0x1803", "off": "0x1802"}
_CARRIER = {"up": "1", "down": "0", "off": "?"}
LACP = "IEEE 802.3ad Dynamic link aggregation"


def bond(
    *ports: tuple[str, str, int], name: str = "bond0", mode: str = "fault-tolerance (active-backup)", groups: str = ""
) -> str:
    """Print a bond. A port is its name, `up`, `down` or `off`, and how often it failed; `groups`: their aggregators."""
    whole = "up" if any(state == "up" for _, state, _ in ports) else "down"
    text = f"-- bond {name} flags 0x1403 --\nBonding Mode: {mode}\nMII Status: {whole}\n"
    text += "MII Polling Interval (ms): 100\n"
    for at, (port, state, failures) in enumerate(ports):
        text += f"Slave Interface: {port}\nMII Status: {'up' if state == 'up' else 'down'}\n"
        text += f"Link Failure Count: {failures}\n" + (f"Aggregator ID: {groups[at]}\n" if groups else "")
    return text + "".join(
        f"port {port} flags {_FLAGS[state]} carrier {_CARRIER[state]} ups {failures + (state == 'up')}\n"
        for port, state, failures in ports
    )


_BOND = "bond-degraded"
_WELL = bond(("eno1", "up", 0), ("eno2", "up", 0))
_LOST = bond(("eno1", "up", 0), ("eno2", "down", 1))
_STORAGE = bond(("eno3", "down", 2), ("eno4", "down", 1), name="bond1", mode=LACP, groups="11")
_DOWN = "bond0: (slave eno2): link status definitely down, disabling slave"
_UP = "bond0: (slave eno2): link status definitely up, 25000 Mbps full duplex"
_NFS = "nfs: server 10.0.4.20 not responding, still trying"

BONDS: list[Label] = [
    sick(_BOND, "one of two links is gone for three days", metal().bond(_LOST).log((3 * DAY, _DOWN))),
    sick(_BOND, "the same, and the log no longer reaches back", metal().bond(_LOST)),
    sick(
        _BOND,
        "an old kernel's words, and the driver could not be asked",
        rhel7().without("nic").log((HOUR, "bond0: link status definitely down for interface p1p2, disabling it")),
    ),
    sick(
        _BOND,
        "the storage network has no link, and its file server is silent",
        metal().bond(_WELL + _STORAGE).log((9 * MINUTE, _NFS)).waiting(12, "java", "rpc_wait_bit_killable"),
        "the server is well: nothing reaches it",
    ),
    sick(_BOND, "a link that comes and goes", database().bond(_WELL).log_every(400, 300, 6, _DOWN)),
    sick(
        _BOND,
        "a team without one of its links",
        rocky8().bond(
            "-- team team0 flags 0x1043 --\nport ens1f0 flags 0x1043 carrier 1 ups 1\n"
            "-- team team0 flags 0x1043 --\nport ens1f1 flags 0x1043 carrier 0 ups 2\n"
        ),
    ),
    sick(
        _BOND,
        "the switch has the second port in another channel",
        metal().bond(bond(("eno1", "up", 0), ("eno2", "up", 0), mode=LACP, groups="12")),
        "a port of another aggregator carries nothing",
    ),
    sick(
        _BOND,
        "a bond that watches nothing",
        rhel7().bond(_WELL.replace("(ms): 100", "(ms): 0").replace("carrier 1 ups 1\n", "carrier 0 ups 1\n", 1)),
        "half of what it sends goes nowhere",
    ),
    sick(_BOND, "a port that was never plugged in", gpu_node().bond(bond(("eno1", "up", 0), ("eno2", "down", 0)))),
    near(_BOND, "both links are there", metal().bond(_WELL)),
    near(
        _BOND, "eight links of two bonds", gpu_node().bond(_WELL + _STORAGE.replace("down", "up").replace("r 0", "r 1"))
    ),
    near(
        _BOND, "a backup that is switched off on purpose", database().bond(bond(("eno1", "up", 0), ("eno2", "off", 1)))
    ),
    near(
        _BOND,
        "the module's own bond, which nobody uses",
        metal().bond("-- bond bond0 flags 0x1402 --\nBonding Mode: load balancing (round-robin)\nMII Status: down\n"),
    ),
    near(
        _BOND,
        "a bond that is configured and switched off",
        metal().bond(_WELL + _STORAGE.replace("flags 0x1403", "flags 0x1402")),
    ),
    near(
        _BOND,
        "the switch was restarted an hour ago",
        metal().bond(bond(("eno1", "up", 1), ("eno2", "up", 1))).log((70 * MINUTE, _DOWN), (64 * MINUTE, _UP)),
    ),
    near(
        _BOND,
        "it came and went for a night, a week ago",
        database().bond(bond(("eno1", "up", 0), ("eno2", "up", 61))).log_every(7 * DAY, 300, 60, _DOWN),
    ),
    near(
        _BOND,
        "both switches were updated last month, one after the other",
        rocky8().bond(bond(("eno1", "up", 3), ("eno2", "up", 4))),
    ),
    near(
        _BOND,
        "down at the first look, and up at the second",
        metal().bond(_LOST, bond(("eno1", "up", 0), ("eno2", "up", 1))).log((2, _DOWN), (0.5, _UP)),
    ),
    near(_BOND, "a cloud's machine without any bond", amazon2()),
    near(
        _BOND,
        "a file server is silent, and the bond has its links",
        metal().bond(_WELL).log((9 * MINUTE, _NFS)).waiting(12, "java", "rpc_wait_bit_killable"),
        "",
        "io-stall",
    ),
    near(
        _BOND,
        "a pod's own interface went down",
        Machine().log((4 * MINUTE, "cni0: port 7(veth2f1c) entered disabled state"), (20, "eth0: link becomes ready")),
    ),
]
