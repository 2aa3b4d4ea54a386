"""More cases of network cards, of an instance's limits, and of tables of connections and neighbours."""

from __future__ import annotations

from dataclasses import replace

from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import amazon2, arm, azure, database, edge, google, gpu_node, guest, metal, rancher, small
from tests.independent.label import Label, near, sick
from tests.independent.machine import Machine

_NIC = "nic-device-fault"
_ENA = "ena 0000:00:05.0 eth0: "
_BACK = "ena 0000:00:05.0: Device reset completed successfully, Driver info: Elastic Network Adapter (ENA) v{}g"
_MLX = "mlx5_core 0000:98:00.0"


def _back(version: str) -> str:
    return _BACK.format(version)


NICS: list[Label] = [
    sick(
        _NIC,
        "completions never come, on idle cores, in the words of an old driver",
        amazon2(cores=8)
        .log_every(130, 420, 3, _ENA + "Found a Tx that wasn't completed on time, qid 4, index 57{n}.")
        .log_every(
            129.9,
            420,
            3,
            _ENA + "The number of lost tx completions is above the threshold (361 > 128). Reset the device",
        )
        .log_every(129, 420, 3, _back("2.4.0"))
        .nic(missing_tx_cmpl=(3, 3), total_resets=(3, 3)),
        "every core is idle: device or host",
    ),
    sick(
        _NIC,
        "a queue stands although its handler ran a millisecond ago",
        Machine(kernel="6.1.109-118.189.amzn2023.x86_64")
        .log_every(
            50,
            300,
            4,
            _ENA
            + "TX q 4 is paused for too long (threshold 5000000). Time since last napi 1000 usec. napi scheduled: 0",
        )
        .log_every(49, 300, 4, _back("2.12.3"))
        .nic(os_netdev_wd=(4, 4), total_resets=(4, 4)),
        "no handler waits: not starvation",
    ),
    sick(
        _NIC,
        "a ConnectX whose queues time out every few minutes",
        metal()
        .log_every(35, 180, 5, "NETDEV WATCHDOG: eth0 (mlx5_core): transmit queue 12 timed out")
        .log_every(34.9, 180, 5, f"{_MLX} eth0: TX timeout detected"),
        "the newest half a minute ago",
    ),
    near(
        _NIC,
        "a cable was pulled for ten seconds last night",
        metal().log(
            (14 * HOUR, f"{_MLX} eth0: Link down"),
            (14 * HOUR - 10, f"{_MLX} eth0: Link up"),
        ),
        "up since",
    ),
    near(
        _NIC,
        "AWS asked for a reset twelve days ago",
        Machine(up=40 * DAY)
        .log((12 * DAY, _ENA + "Trigger reset is on"), (12 * DAY - 1, _back("2.13.2")))
        .nic(device_request_reset=(1, 1), total_resets=(1, 1)),
        "maintenance, and over",
    ),
    near(
        _NIC,
        "frames that nobody listens to are dropped in the window",
        guest().nic(rx_dropped=(90_412, 90_433)),
        "the counter takes in unknown protocols",
    ),
    near(
        _NIC,
        "the core stack's watchdog spoke once, three days ago",
        azure().log(
            (3 * DAY, "NETDEV WATCHDOG: eth0 (mlx5_core): transmit queue 3 timed out"),
            (3 * DAY - 0.1, "mlx5_core 0001:00:02.0 eth0: TX timeout detected"),
        ),
    ),
    near(
        _NIC,
        "somebody plugged in another module",
        metal().log((2 * HOUR, f"{_MLX}: Port module event: module 0, Cable plugged")),
    ),
]

_ALLOWED = "instance-allowance-exceeded"
ALLOWANCES: list[Label] = [
    sick(
        _ALLOWED,
        "a Graviton sends more than it may, all through the window",
        arm(cores=4, memory_gib=8).nic(bw_out_allowance_exceeded=(5_020, 61_330)),
    ),
    sick(
        _ALLOWED,
        "packets and bandwidth at once, on a proxy",
        Machine(kubernetes=False, product="c5n.large", cores=2, memory_gib=5).nic(
            pps_allowance_exceeded=(800_120, 833_410), bw_in_allowance_exceeded=(91, 7_777)
        ),
    ),
    near(_ALLOWED, "three packets out", gpu_node().nic(bw_out_allowance_exceeded=(712, 715))),
    near(_ALLOWED, "one question too many for the resolver", small().nic(linklocal_allowance_exceeded=(40, 41))),
    near(_ALLOWED, "a card of Azure has no such counters", azure()),
    near(
        _ALLOWED,
        "connections were refused a hundred days ago",
        arm(up=210 * DAY).nic(conntrack_allowance_exceeded=(65_900, 65_900)),
        "none now",
    ),
    near(
        _ALLOWED,
        "ENA Express counts what it sends",
        gpu_node().nic(ena_srd_tx_pkts=(11_000, 912_000), ena_srd_eligible_tx_pkts=(11_000, 950_000)),
        "not one counter of a limit",
    ),
]

_ARP = "neighbour-overflow"
_OVER = "neighbour: {}_cache: neighbor table overflow!"
NEIGHBOURS: list[Label] = [
    sick(
        _ARP,
        "a service mesh on IPv6",
        arm().table_fulls(200, 655).log_every(4, 5, 20, _OVER.format("ndisc")),
    ),
    sick(
        _ARP,
        "a router for a hundred small networks",
        guest().table_fulls(1_048_576, 1_049_002).log_every(2, 10, 40, _OVER.format("arp")),
    ),
    near(
        _ARP,
        "the limit was raised two weeks ago",
        rancher().table_fulls(771_202, 771_202).log_every(14 * DAY, 5, 30, _OVER.format("arp")),
        "the count stands still since",
    ),
    near(
        _ARP,
        "twice, forty minutes ago, while pods were moved",
        google().table_fulls(2, 2).log_every(40 * MINUTE, 5, 2, _OVER.format("arp")),
        "room since",
    ),
    near(
        _ARP,
        "martians on the wire",
        metal().log_every(5, 3, 30, "IPv4: martian source 10.3.0.{n} from 10.3.0.9, on dev eth0"),
        "odd packets, and room in the table",
    ),
    replace(
        near(
            _ARP,
            "a loop of bridges",
            guest().log_every(3, 4, 20, "br-lan: received packet on eth1 with own address as source address"),
            "another fault, and not of the table",
        ),
        ill=True,
        corrected="the label calls it a fault of another kind, and the node healthy all the same",
    ),
    near(
        _ARP, "an address that somebody else has", edge().log((HOUR, "IPv6: eth0: IPv6 duplicate address fe80::1 used"))
    ),
]

_TRACK = "conntrack-full"
_DROP = "nf_conntrack: nf_conntrack: table full, dropping packet"
CONNTRACK: list[Label] = [
    sick(
        _TRACK,
        "a gateway with room for two million",
        guest(cores=16).conntrack(2_096_940, 2_097_152).log_every(2, 5, 30, _DROP),
    ),
    sick(
        _TRACK,
        "a board whose small table is full",
        edge().conntrack(32_768, 32_768).log_every(1, 5, 30, _DROP),
    ),
    near(_TRACK, "eighty percent, and nothing was dropped", azure().conntrack(209_700, 262_144)),
    near(
        _TRACK,
        "half full, and it dropped last week",
        Machine(up=40 * DAY).conntrack(131_000, 262_144).log_every(7 * DAY, 5, 12, _DROP),
    ),
    near(
        _TRACK,
        "a flood that ended twenty-five minutes ago",
        rancher().conntrack(52_000, 262_144).log_every(25 * MINUTE, 5, 12, _DROP),
        "a fifth is used now",
    ),
    near(
        _TRACK,
        "a pod's own table was full three hours ago",
        Machine(kernel="6.17.1").log_every(
            3 * HOUR, 5, 4, "nf_conntrack: table full in netns 4026533012, dropping packet"
        ),
        "over",
    ),
    near(
        _TRACK,
        "too many expectations of an FTP helper",
        metal().log_every(5 * MINUTE, 60, 3, "nf_conntrack: expectation table full"),
        "the table of connections has room",
    ),
    near(
        _TRACK,
        "a rate limit keeps as many as it may",
        database().log_every(90, 30, 6, "xt_hashlimit: max count of 65536 reached"),
        "another table, by its own setting",
    ),
]
