"""More cases of certificates, name servers and clocks."""

from __future__ import annotations

from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import arm, azure, database, edge, google, gpu_node, guest, metal, rancher, rocky8, small
from tests.independent.label import Label, near, sick
from tests.independent.machine import Machine

_CERT = "certificate-expiry"
_CLIENT = "/var/lib/kubelet/pki/kubelet-client-current.pem"
_SERVER = "/var/lib/kubelet/pki/kubelet-server-current.pem"
_RKE2 = "/var/lib/rancher/rke2/agent/client-kubelet.crt"


def _without_client(machine: Machine) -> Machine:
    machine.facts.certificates.clear()
    return machine


CERTIFICATES: list[Label] = [
    sick(
        _CERT,
        "an RKE2 agent's client certificate ended three days ago",
        rancher().certificate(_RKE2, -368 * DAY, -3 * DAY, "rke2-client-ca@1700000000"),
    ),
    sick(
        _CERT,
        "the cluster's own server certificate ends in two hours",
        google().certificate(_CLIENT, -30 * DAY, 335 * DAY).certificate(_SERVER, -365 * DAY, 2 * HOUR),
        "of a year, two hours",
    ),
    near(
        _CERT,
        "half of two years",
        azure().certificate(_CLIENT, -430 * DAY, 300 * DAY),
    ),
    near(
        _CERT,
        "K3s would renew at its next start",
        edge().certificate(
            "/var/lib/rancher/k3s/agent/client-kubelet.crt", -250 * DAY, 115 * DAY, "k3s-client-ca@1700000000"
        ),
        "within its own last 120 days, and a third of a year away",
    ),
    near(
        _CERT,
        "an EKS node that signs in with its role and has a server certificate only",
        _without_client(arm()).certificate(_SERVER, -22 * DAY, 23 * DAY),
        "half of its life",
    ),
    near(
        _CERT,
        "a certificate of one hour, five minutes old",
        gpu_node().certificate(_CLIENT, -5 * MINUTE, 55 * MINUTE),
    ),
]

_DNS = "dns-failing"
_FINE = "NOERROR NXDOMAIN NXDOMAIN"
NAMES: list[Label] = [
    sick(
        _DNS,
        "three servers of a data centre, and each fails every question",
        metal().dns(*((f"192.0.2.{n}", "SERVFAIL SERVFAIL SERVFAIL") for n in (53, 54, 55))),
    ),
    sick(
        _DNS,
        "the first is silent and the second fails",
        azure().dns(("168.63.129.16", ""), ("10.0.0.10", "SERVFAIL SERVFAIL SERVFAIL")),
    ),
    near(_DNS, "a resolver on IPv6", arm().dns(("fd00:ec2::253", "NOERROR NXDOMAIN NOERROR"))),
    near(
        _DNS, "the third of three is silent", rocky8().dns(("10.1.0.2", _FINE), ("10.1.0.3", _FINE), ("10.1.0.4", ""))
    ),
    near(
        _DNS,
        "each of two lost a packet",
        guest().dns(("10.4.0.2", "NOERROR NXDOMAIN"), ("10.4.0.3", "NOERROR NOERROR")),
        "two of three answered, by both",
    ),
    near(
        _DNS,
        "the first fails one zone, the second none",
        rancher().dns(("10.7.0.2", "NOERROR NXDOMAIN SERVFAIL"), ("10.7.0.3", _FINE)),
    ),
]

_CLOCK = "clock-unsynced"
CLOCKS: list[Label] = [
    sick(
        _CLOCK,
        "chrony lost its servers, and almost a second",
        database().clock(
            "chronyd",
            "Reference ID    : 7F7F0101 ()",
            "Stratum         : 0",
            "System time     : 0.911004000 seconds fast of NTP time",
            "Leap status     : Not synchronised",
        ),
    ),
    sick(
        _CLOCK,
        "the TSC drifted and the node counts by the ACPI timer",
        rocky8()
        .clock(
            "chronyd",
            "System time     : 0.000310000 seconds slow of NTP time",
            "Leap status     : Normal",
            source="acpi_pm",
            available="acpi_pm",
        )
        .log((20 * HOUR, "clocksource: Marking clocksource 'tsc' as unstable because the skew is too large:")),
        "every look at the clock costs a trip to the chipset",
    ),
    near(_CLOCK, "timesyncd is in step", small().clock("systemd-timesyn", "yes")),
    near(_CLOCK, "ntpd, twelve milliseconds off", rocky8().clock("ntpd", "leap=leap_none, offset=12.413")),
    near(
        _CLOCK,
        "a leap second is announced",
        metal().clock(
            "chronyd", "System time     : 0.000012000 seconds fast of NTP time", "Leap status     : Insert second"
        ),
        "in step, and it knows what comes",
    ),
    near(
        _CLOCK,
        "six minutes after boot timesyncd has not reached anybody",
        small(up=6 * MINUTE).clock("systemd-timesyn", "no"),
        "not yet",
    ),
    near(
        _CLOCK,
        "a guest whose TSC is no good, on the clock of its hypervisor",
        google().log((14 * DAY - 3, "tsc: Marking TSC unstable due to clocksource watchdog")),
        "kvm-clock is what it should use",
    ),
]
