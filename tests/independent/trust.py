"""Cases of certificates, name servers and clocks: what a node needs to be believed and to find others."""

from __future__ import annotations

from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import database, edge, google, gpu_node, metal, small
from tests.independent.label import Label, near, sick
from tests.independent.machine import Machine

_CERT = "certificate-expiry"
_CLIENT = "/var/lib/kubelet/pki/kubelet-client-current.pem"
_SERVER = "/var/lib/kubelet/pki/kubelet-server-current.pem"
CERTIFICATES: list[Label] = [
    sick(_CERT, "the client certificate expired two hours ago", Machine().certificate(_CLIENT, -365 * DAY, -2 * HOUR)),
    sick(
        _CERT,
        "ten days are left of a year, and nobody renewed it",
        google().certificate(_CLIENT, -355 * DAY, 10 * DAY),
        "97 % of its life",
    ),
    sick(
        _CERT,
        "K3s serves with an expired certificate",
        edge().certificate(
            "/var/lib/rancher/k3s/agent/serving-kubelet.crt", -366 * DAY, -DAY, "k3s-server-ca@1700000000"
        ),
    ),
    sick(
        _CERT, "a short-lived one was not renewed and ended", gpu_node().certificate(_CLIENT, -26 * HOUR, -40 * MINUTE)
    ),
    near(
        _CERT,
        "eighty days are left of a year",
        Machine().certificate(_CLIENT, -285 * DAY, 80 * DAY),
        "before the renewal",
    ),
    near(
        _CERT,
        "a certificate of one day, nine hours left",
        gpu_node().certificate(_CLIENT, -15 * HOUR, 9 * HOUR),
        "short-lived ones are no alarm",
    ),
    near(
        _CERT,
        "the kubelet's own server certificate ended",
        Machine().certificate("/var/lib/kubelet/pki/kubelet.crt", -400 * DAY, -35 * DAY, "own"),
        "nobody checks it",
    ),
    near(_CERT, "no kubelet", database()),
    near(
        _CERT, "renewed yesterday", google().certificate(_CLIENT, -DAY, 364 * DAY).certificate(_SERVER, -DAY, 364 * DAY)
    ),
    near(
        _CERT,
        "one hour of life, a quarter left",
        edge().certificate(
            "/var/lib/rancher/k3s/agent/client-kubelet.crt", -45 * MINUTE, 15 * MINUTE, "k3s-client-ca@1700000000"
        ),
        "the rotation's own time",
    ),
]

_DNS = "dns-failing"
NAMES: list[Label] = [
    sick(_DNS, "the only server is silent", Machine().dns(("10.0.0.2", ""))),
    sick(_DNS, "the only server fails every question", small().dns(("169.254.169.253", "SERVFAIL SERVFAIL SERVFAIL"))),
    sick(_DNS, "both servers are silent", metal().dns(("192.0.2.53", ""), ("192.0.2.54", ""))),
    sick(_DNS, "the node-local cache died", gpu_node().dns(("169.254.20.10", ""))),
    near(
        _DNS,
        "a private server that knows only its own names",
        Machine().dns(("10.8.0.1", "REFUSED NXDOMAIN NXDOMAIN")),
        "answers, all of them",
    ),
    near(
        _DNS,
        "the second of two is silent",
        database().dns(("10.0.0.2", "NOERROR NXDOMAIN NXDOMAIN"), ("10.0.1.2", "")),
        "the first answers everything",
    ),
    near(_DNS, "one packet was lost", google().dns(("169.254.169.254", "NOERROR NXDOMAIN"))),
    near(_DNS, "systemd-resolved's stub", small().dns(("127.0.0.53", "NOERROR NOERROR NXDOMAIN"))),
    near(_DNS, "no server is configured", metal().dns()),
    near(_DNS, "one private zone fails", Machine().dns(("10.0.0.2", "NOERROR SERVFAIL NOERROR"))),
]

_CLOCK = "clock-unsynced"
_CHRONY_LOST = (
    "Reference ID    : 00000000 ()",
    "Stratum         : 0",
    "System time     : 3.204113000 seconds slow of NTP time",
    "Leap status     : Not synchronised",
)
_TSC = "clocksource: timekeeping watchdog on CPU3: Marking clocksource 'tsc' as unstable because the skew is too large:"
CLOCKS: list[Label] = [
    sick(_CLOCK, "nobody answers chrony, and three seconds are lost", Machine().clock("chronyd", *_CHRONY_LOST)),
    sick(
        _CLOCK,
        "in step by its word, and 45 s off",
        metal().clock("chronyd", "System time     : 45.100000000 seconds fast of NTP time", "Leap status     : Normal"),
        "a machine that was paused",
    ),
    sick(
        _CLOCK,
        "the TSC was given up, and every look at the clock costs a trap",
        metal()
        .clock(
            "chronyd",
            "Leap status     : Normal",
            "System time     : 0.000100000 seconds fast of NTP time",
            source="hpet",
            available="hpet acpi_pm",
        )
        .log((6 * DAY, _TSC)),
        "hpet",
    ),
    sick(_CLOCK, "timesyncd never reached anybody in three days", small().clock("systemd-timesyn", "no")),
    sick(_CLOCK, "ntpd lost its peers", database().clock("ntpd", "leap=leap_alarm, offset=812.113")),
    near(
        _CLOCK,
        "Xen's own clock on an old instance",
        Machine(kernel="4.14.336-257.562.amzn2.x86_64", product="m4.large", clocksource="xen", virt="xen"),
        "rightly so",
    ),
    near(
        _CLOCK,
        "four minutes after boot",
        small(up=240).clock("chronyd", *_CHRONY_LOST[:2], "Leap status     : Not synchronised"),
        "it has not had the time",
    ),
    near(
        _CLOCK,
        "eighty milliseconds",
        edge().clock("chronyd", "System time     : 0.080000000 seconds fast of NTP time", "Leap status     : Normal"),
    ),
    near(_CLOCK, "a virtual machine on KVM's clock", google()),
    near(
        _CLOCK,
        "the TSC is no good under Hyper-V, which has its own",
        Machine(
            maker="Microsoft Corporation",
            product="Virtual Machine",
            virt="microsoft",
            clocksource="hyperv_clocksource_tsc_page",
            driver="hv_netvsc",
        ).log((9 * DAY - 2, "tsc: Marking TSC unstable due to running on Hyper-V")),
    ),
    near(_CLOCK, "an Arm board", edge()),
    near(
        _CLOCK,
        "nobody keeps the time, as far as can be seen",
        Machine(virt="vmware", maker="VMware, Inc.", product="VMware7,1", driver="vmxnet3").clock(""),
        "the hypervisor may; it cannot be told",
    ),
]
