"""Units that no plan may ever stop, disable or mask: the node, its work or our login needs them.

The only list in the project. Names stand without `.service`: a unit's type and a template's instance are removed before
the comparison, so that `wg-quick` and `docker` cover `wg-quick@wg0.service` and `docker.socket`.
"""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Iterable

# These schedule the node's work: every name under which distributions ship the kubelet.
KUBELETS = (
    "kubelet",
    "kubelite",
    "snap.kubelet.daemon",
    "snap.kubelet-eks.daemon",
    "snap.microk8s.daemon-kubelite",
    "snap.microk8s.daemon-kubelet",
    "snap.k8s.kubelet",
    "k3s",
    "k3s-agent",
    "rke2-server",
    "rke2-agent",
    "k0sworker",
    "k0scontroller",
)

KUBELET_UNITS = tuple(f"{name}.service" for name in KUBELETS)

# Kubelets that bring a container runtime of their own: a distribution's runtime beside them runs nothing.
_OF_PACKAGES = ("kubelet", "snap.kubelet.daemon", "snap.kubelet-eks.daemon")
WITH_OWN_RUNTIME = tuple(f"{name}.service" for name in KUBELETS if name not in _OF_PACKAGES)

_RUNTIME_DAEMONS = (
    "containerd",
    "docker",
    "dockerd",
    "moby-engine",
    "crio",
    "cri-o",
    "cri-docker",
    "cri-dockerd",
    "snap.docker.dockerd",
    "snap.microk8s.daemon-containerd",
    "snap.k8s.containerd",
)

RUNTIMES = (
    *_RUNTIME_DAEMONS,
    "containerd-shim*",
    "podman",
    "podman-*",
    "buildkit*",
    "snap.docker.*",
    "snap.microk8s.*",
    "snap.k8s.*",
    "host-containerd*",
)

_CLUSTER_STORES = ("etcd", "etcd-*", "kine", "k8s-dqlite", "snap.etcd*", "kube-*", "nodeadm-*")
# Under a name of one's own (INSTALL_K3S_NAME), and what keeps a kubelet running.
_OTHER_KUBELETS = ("kubelet*", "k3s-*", "rke2-*", "k0s*", "protokube", "kops-*", "konnectivity*", "bottlerocket-*")

# They hold data, or names that other machines look up: one that fails is repaired, not taken away.
DATA_STORES = (
    *("postgres*", "pgbouncer*", "patroni*", "mysql*", "mariadb*", "percona*", "mongo*", "redis*", "valkey*", "keydb*"),
    *("memcached*", "cassandra*", "scylla*", "elasticsearch*", "opensearch*", "clickhouse*", "influx*", "cockroach*"),
    *("kafka*", "confluent-*", "redpanda*", "zookeeper*", "rabbitmq*", "nats*", "pulsar*", "bookkeeper*", "activemq*"),
    *("minio*", "vault*", "openbao*", "consul*", "neo4j*", "couchdb*", "couchbase*", "aerospike*", "tidb*", "tikv*"),
    *("foundationdb*", "oracle*", "db2*", "mssql*", "hadoop-*", "hbase-*", "victoria*", "prometheus"),
    *("timescaledb*", "pgvector*", "citus*", "yugabyte*", "yb-*", "ydb*", "rqlite*", "sqlservr", "ora_pmon_*", "solr*"),
    *("qdrant*", "milvus*", "weaviate*", "ravendb*", "questdb*", "dgraph*", "arangod*", "immudb*"),
)

LOGINS = (
    "ssh",
    "sshd",
    "sshd-*",
    "ssh-*",
    "dropbear",
    "teleport",
    "tailscaled",
    "getty",
    "serial-getty",
    "console-getty",
    "host-containers",  # Bottlerocket: both ways in are such containers
)
_LOGIN_DAEMONS = ("ssh", "sshd", "dropbear", "teleport", "tailscaled")

NETWORKS = (
    *("network", "networking", "NetworkManager", "NetworkManager-*", "systemd-networkd", "systemd-resolved"),
    *("wicked*", "dhcpcd", "dhclient*", "ifup", "netplan*", "wg-*", "wireguard*", "tinc*", "xl2tpd*", "pppd*"),
    *("pppoe*", "ModemManager", "openvpn*", "strongswan*", "ipsec", "frr", "bird*", "keepalived", "nftables"),
    *("iptables", "ip6tables", "firewalld", "ufw", "netfilter-persistent", "openvswitch*", "ovs-*", "cilium*"),
    "calico*",
)

_NETWORK_DAEMONS = (
    *("network", "networking", "NetworkManager", "systemd-networkd", "dhcpcd", "frr", "keepalived"),
    *("cilium*", "calico*"),
)

# Name lookups wait for them if resolv.conf names the node itself, and calls if they go through such a proxy.
_RESOLVERS_AND_PROXIES = (
    *("dnsmasq", "unbound", "named*", "bind9", "pdns*", "coredns*", "node-local-dns*", "haproxy*"),
    *("flanneld", "weave*", "antrea*", "ovn-*", "wpa_supplicant"),
)

# These let people in from outside without an open port.
_TUNNELS = ("cloudflared*", "zerotier-one", "nebula*", "netbird*", "twingate*", "warp-svc")

# These let people log in, and the cloud reach the machine.
_IDENTITY = (
    "sssd*",
    "nslcd",
    "nscd",
    "ypbind",
    "krb5*",
    "certmonger",
    "himdsd",
    "winbind*",
    "oddjobd",
    "amazon-ssm-agent",
    "snap.amazon-ssm-agent.*",
    "google-guest-agent*",
    "google-osconfig-agent",
    "google-oslogin*",
    "waagent",
    "walinuxagent",
    "hypervkvpd",
    "hv-*",
    "qemu-guest-agent",
    "vmtoolsd",
    "open-vm-tools",
    "cloud-init*",
    "cloud-config*",
    "cloud-final*",
    "ignition*",
    "ec2-instance-connect*",
    "sftd",  # Okta's, and those of Active Directory
    "centrifydc*",
    "vasd",
    "lwsmd",
    "himmelblaud*",
    "slapd*",
    "dirsrv*",
    "ipa*",
)

_TIME = ("chrony", "chronyd", "chrony-*", "ntp", "ntpd", "ntpsec", "openntpd", "systemd-timesyncd", "ptp4l", "phc2sys")

_STORAGE = (
    *("multipathd*", "iscsid*", "iscsi*", "open-iscsi", "lvm2-*", "dm-event", "nfs-*", "rpcbind", "rpc-*", "autofs"),
    *("zfs-*", "mdmonitor*", "mdadm*", "glusterd", "glusterfsd", "ceph-*", "lustre*", "lnet", "beegfs-*", "gpfs*"),
    *("wekafs*", "weka-agent", "blk-availability", "cryptsetup*", "drbd*", "corosync*", "pacemaker*", "linstor-*"),
    *("openafs*", "stratisd*", "nvmf*", "tgt*", "juicefs*", "moosefs*", "smb*", "nmb*"),
)

# Without them a cluster takes the node for dead, and cuts its power; the watchdog's device does so by itself.
_FENCING = ("watchdog*", "wd_keepalive", "sbd*", "dlm*", "ha-*", "fence*", "stonith*", "rgmanager", "cman")

# These run the node's own work, which nobody asked us to end.
JOB_RUNNERS = (
    *("slurm*", "munge", "nomad", "ray", "ray-*", "pbs*", "condor", "lsfd", "flux"),
    *("gridengine*", "sge*", "gitlab-runner*", "buildkite-agent*", "actions.runner.*"),
    *("vsts.agent.*", "jenkins*", "teamcity*", "go-agent*", "woodpecker-agent*", "drone-runner*", "circleci-runner*"),
    *("concourse-worker*", "bamboo-agent*", "act_runner*", "forgejo-runner*", "yarn-nodemanager*", "spark-worker*"),
    *("libvirtd*", "virtqemud*", "virtlogd*", "lxc*", "lxd*", "snap.lxd.*", "incus*"),
    *("neutron-*", "nova-*", "cinder-*", "octavia-*", "openstack-*", "xen*", "xapi*", "xcp-*"),
    *("firecracker*", "qemu-*"),
)

_SCHEDULERS = ("cron", "crond", "cronie", "fcron", "atd", "supervisor*", "pm2-*", "pve*", "qmeventd")
# Others wait for them, or vote with them, while a node of theirs is away.
_KEEP_FOR_OTHERS = (
    *("etcd", "etcd-*", "kine", "k8s-dqlite", "snap.etcd*", "kube-apiserver*", "k3s", "rke2-server", "k0scontroller"),
    *DATA_STORES,
    *("ceph*", "glusterd", "glusterfsd", "linstor-*", "drbd*", "beegfs-*", "lustre*", "gpfs*"),
    *("corosync*", "pacemaker*"),
    *("nfs-server", "nfs-kernel-server", "smbd", "tgt*", "nvmet*", "longhorn-instance-manager", "mayastor*"),
)
# Each job, machine or container of theirs has cgroups of its own, and no list of containers that we read has them.
_MAKE_CGROUPS = (*JOB_RUNNERS, "podman*", "systemd-nspawn*")
# They run inside a machine of others, and run none.
_IN_GUESTS = ("qemu-guest-agent", "qemu-ga", "xen-guest-agent")

_GPUS = ("nvidia-*", "nvidia_*", "dcgm*", "nv-*", "efa*", "openibd", "opensm*", "rdma*", "amdgpu*", "habanalabs*")

# These guard or record the machine: whoever would rid himself of them would like a bot that offers it.
_GUARDS = (
    *("rsyslog*", "syslog*", "falcon-sensor", "wazuh*", "ossec*", "mdatp*", "sentinel*", "ds_agent", "cbagentd"),
    *("xagt", "osqueryd", "elastic-endpoint", "fail2ban", "crowdsec*", "clam*", "sophos*", "traps_pmd", "fapolicyd"),
    "usbguard",
)

_SYSTEM = (
    "snapd*",
    "systemd-*",
    "dbus*",
    "polkit*",
    "udev*",
    "user",
    "user@*",
    "init",
    "irqbalance*",
    "auditd*",
    "falco*",
    "apparmor",
)

PROTECTED = (
    *KUBELETS,
    *_OTHER_KUBELETS,
    *RUNTIMES,
    *_CLUSTER_STORES,
    *DATA_STORES,
    *LOGINS,
    *NETWORKS,
    *_RESOLVERS_AND_PROXIES,
    *_TUNNELS,
    *_IDENTITY,
    *_TIME,
    *_STORAGE,
    *_FENCING,
    *JOB_RUNNERS,
    *_SCHEDULERS,
    *_GPUS,
    *_GUARDS,
    *_SYSTEM,
)
# If any of these restarts in a loop, the node cannot take work, or cannot be reached. Their helpers are left out: what
# waits at boot, makes keys or updates images may fail, and the node works.
ESSENTIAL = (*KUBELETS, *_RUNTIME_DAEMONS, *_LOGIN_DAEMONS, *_NETWORK_DAEMONS)

# Starting any of these ends the boot, or opens a root shell.
_NEVER_STARTED = (
    "systemd-reboot",
    "systemd-poweroff",
    "systemd-halt",
    "systemd-kexec",
    "systemd-soft-reboot",
    "systemd-exit",
    "systemd-suspend*",
    "systemd-hibernate*",
    "systemd-hybrid-sleep",
    "systemd-factory-reset*",
    "emergency",
    "rescue",
    "debug-shell",
)

_STOPPABLE = ("service", "socket", "timer", "path")
_NEVER = ("mount", "automount", "swap", "target", "slice", "scope", "device")


def is_protected(names: Iterable[str]) -> bool:
    """True when any of a unit's names (its Id and every alias) is on the list.

    Example:
    >>> is_protected(["k3s-agent.service"]), is_protected(["wg-quick@wg0.service"]), is_protected(["ecs.service"])
    (True, True, False)
    """
    return any(map(_is_protected, names))


def is_essential(names: Iterable[str]) -> bool:
    """True when the node cannot take work or be reached without a unit of any of these names.

    Example:
    >>> is_essential(["containerd.service"]), is_essential(["chronyd.service"])
    (True, False)
    """
    return any(_is_on(name, ESSENTIAL) for name in names)


def is_network(names: Iterable[str]) -> bool:
    """True when a unit of any of these names makes the network: a node that answers has one.

    Example:
    >>> is_network(["networking.service"]), is_network(["containerd.service"])
    (True, False)
    """
    return any(_is_on(name, _NETWORK_DAEMONS) for name in names)


def makes_cgroups(names: Iterable[str]) -> bool:
    """True when a unit of any of these names runs jobs, machines or containers with cgroups of their own.

    Example:
    >>> makes_cgroups(["slurmd.service"]), makes_cgroups(["qemu-guest-agent.service"])
    (True, False)
    """
    return any(map(_makes_cgroups, names))


def keeps_for_others(names: Iterable[str]) -> bool:
    """True when a unit of any of these names keeps data, or a cluster together: a reboot of its node is felt elsewhere.

    Example:
    >>> keeps_for_others(["ceph-osd@3.service"]), keeps_for_others(["kubelet.service"])
    (True, False)
    """
    return bool(keeps_as(names))


def keeps_as(names: Iterable[str]) -> str:
    """Return what a unit of any of these names is known as where it keeps data, or a cluster together; else "".

    Example:
    >>> keeps_as(["postgresql@14-main.service"]), keeps_as(["postgres"]), keeps_as(["kubelet.service"])
    ('postgres*', 'postgres*', '')
    """
    return next(filter(None, map(_keeps_as, names)), "")


def may_never_start(name: str) -> bool:
    """True for a unit whose start ends the boot, or opens a root shell.

    Example:
    >>> may_never_start("systemd-reboot.service"), may_never_start("kubelet.service")
    (True, False)
    """
    return _is_on(name, _NEVER_STARTED)


# `why` weighs a case hundreds of times, and there are many patterns. What a reboot would take from others is asked of
# every unit, in every plan.
@functools.lru_cache(2048)
def _is_protected(name: str) -> bool:
    return _type_of(name) in _NEVER or _is_on(name, PROTECTED)


@functools.lru_cache(2048)
def _makes_cgroups(name: str) -> bool:
    return _is_on(name, _MAKE_CGROUPS) and not _is_on(name, _IN_GUESTS)


@functools.lru_cache(2048)
def _keeps_as(name: str) -> str:
    return next((pattern for pattern in _KEEP_FOR_OTHERS if _is_on(name, (pattern,))), "")


def _type_of(name: str) -> str:
    return name.rpartition(".")[2]


@functools.lru_cache(4096)
def _is_on(name: str, patterns: tuple[str, ...]) -> bool:
    stem, dot, suffix = name.rpartition(".")
    stem = stem if dot and suffix in _STOPPABLE else name
    template = stem.partition("@")[0]
    known = {stem.casefold(), template.casefold()}
    return any(fnmatch.fnmatchcase(unit, pattern.casefold()) for unit in known for pattern in patterns)
