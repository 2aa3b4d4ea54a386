"""Names of pods, containers, sessions and processes are no facts; what nodes share is one, whatever it looks like."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.probe import CustomReading, Snapshot
from bot.extras.fleet.facts import _facts_of_value, fact_value, facts_of, is_own_name
from bot.probes.agents import Agent
from bot.probes.containers import ContainersReading
from bot.probes.formats.container_lists import Container
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.kernel_log import KernelLogReading
from tests.unit.causes import builders as b

HEX = "0123456789abcdef"
UID = "1f0a3c5e-7b9d-4e21-8c43-a65f87e9d0b1"
LONG = "3f2a91bc77de" * 6


@pytest.mark.parametrize(
    "name",
    [
        UID,
        f"kubepods-burstable-pod{UID.replace('-', '_')}.slice",
        "var-lib-kubelet-pods-" + UID.replace("-", r"\x2d") + "-volumes.mount",
        f"cri-containerd-{LONG[:64]}.scope",
        f"/var/lib/docker/overlay2/{LONG[:64]}/merged",
        "run-docker-netns-3f2a91bc77de.mount",
        "vol-0a1b2c3d4e5f60718",
        "coredns-5d78c9869d-x2b4z",
        "kube-proxy-x2b4z",
        "train-28123456-x2b4z",
        "veth1a2b3c4d@if2",
        "cali0123456789a",
        "vnet12",
        "run-r1b2c3d4e5f60718293a4b5c6d7e8f901.scope",
        "run-p123-i456.service",
        "session-c1.scope",
        "user@1000.service",
        "sshd@3-10.0.0.1:22-10.0.0.2:51234.service",
        "kworker/u64:2",
        "worker-31415",
        "/proc/4711/ns/net",
    ],
)
def test_what_only_one_node_calls_so_is_its_own(name: str) -> None:
    assert is_own_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "ecs.service",
        "kubepods-burstable.slice",
        "run-lock.mount",
        "systemd-journald.service",
        "snap-core20-2105.mount",
        "getty@tty1.service",
        "nginx-https",
        "nvme0n1p1",
        "lxcbr0",
        "cilium_vxlan",
        "vethwe-bridge",
        "ebs-csi-driver",
        "6.1.0-13-amd64",
        "v1.27.9-eks-5e0fdde",
        "1.19.2-29cc92cc",
        "10.2.8-x2b4z",
        "1.6.19 1e1ea6e986c6c86565bc33d52e34b81b3e2bc71f",
        "ami-0a1b2c3d4e5f60718",
        "ray/worker:5d78c9869d",
        f"sha256:{LONG[:64]}",
        "10.0.0.2",
        "facade",
    ],
)
def test_what_nodes_share_is_not_their_own(name: str) -> None:
    assert not is_own_name(name)


RANDOM = st.text("bcdfghjklmnpqrstvwxz2456789", min_size=5, max_size=5)
WORD = st.sampled_from(["ray", "coredns", "kube-proxy", "a", "gpu-feature-discovery"])


@given(WORD, st.text("bcdfghjklmnpqrstvwxz2456789", min_size=8, max_size=10), RANDOM.filter(lambda end: end != "https"))
def test_every_pod_is_its_nodes_own(word: str, template: str, end: str) -> None:
    assert is_own_name(f"{word}-{template}-{end}")
    assert is_own_name(f"{word}-{end}")


@given(st.uuids(), st.sampled_from(["-", "_", r"\x2d"]), st.sampled_from(["", "pod", "/kubepods/pod", "kubepods-pod"]))
def test_every_uid_is_its_nodes_own_however_it_is_written(uid: object, between: str, before: str) -> None:
    assert is_own_name(f"{before}{str(uid).replace('-', between)}.slice")


@given(st.sampled_from([12, 13, 32, 64]).flatmap(lambda size: st.text(HEX, min_size=size, max_size=size)))
def test_every_container_is_its_nodes_own_and_every_tag_is_shared(identity: str) -> None:
    assert is_own_name(identity)
    assert is_own_name(f"cri-containerd-{identity}.scope")
    assert not is_own_name(f"ray/worker:{identity}")


@given(st.integers(0, 10**6), st.text(HEX, min_size=7, max_size=8))
def test_every_session_and_interface_of_a_pod_is_its_nodes_own(number: int, end: str) -> None:
    assert is_own_name(f"session-{number}.scope")
    assert is_own_name(f"run-u{number}.service")
    assert is_own_name(f"veth{end}")


@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_any_name_is_judged(name: str) -> None:
    assert is_own_name(name) in (True, False)


def test_an_own_name_is_a_fact_neither_as_an_entry_nor_as_a_key_nor_as_a_value() -> None:
    own = f"kubepods-pod{UID}.slice"
    assert dict(_facts_of_value("x", (own, "shared"))) == {"x[shared]": "there"}
    assert dict(_facts_of_value("x", {own: 1, "shared": 1})) == {"x[shared]": 1.0}
    assert dict(_facts_of_value("x", own)) == {}


def test_containers_are_told_by_their_images() -> None:
    one = Container("3f2a91bc77de", "ray/worker:1", "quirky_hopper", "Up 3 hours", True, timedelta(hours=3))
    facts = facts_of(b.node(ContainersReading(("docker",), (one,))))
    assert {fact for fact in facts if fact.startswith("containers.containers")} == {
        "containers.containers[ray/worker:1]",
        "containers.containers[ray/worker:1].image",
        "containers.containers[ray/worker:1].running",
    }
    assert not [fact for fact in facts.items() if re.search("hopper|3f2a|hours", " ".join(fact))]


def test_agents_are_told_by_their_names_so_that_their_images_can_be_compared() -> None:
    facts = dict(_facts_of_value("agents.agents", (Agent("ecs", "ecs.service", image="amazon/agent:1.2"),)))
    assert facts["agents.agents[ecs].image"] == "amazon/agent:1.2"


def test_a_value_that_is_written_like_absence_is_a_value() -> None:
    assert [fact_value(said) for said in ("none", "there", "v1")] == ["“none”", "“there”", "v1"]


def test_value_whose_own_name_says_that_it_is_a_secret_is_no_fact() -> None:
    said = {
        "api_token": "Fake0hunter2",
        "mode": "fast",
        "login": {"db_password": "hunter2fake"},
        "passwords": ("fake0",),
    }
    facts = dict(_facts_of_value("agent", said))
    assert facts == {
        "agent[api_token]": "[redacted]",
        "agent[mode]": "fast",
        "agent[login][db_password]": "[redacted]",
        "agent[passwords][redacted]": "there",
    }
    custom = Snapshot(
        "n",
        datetime(2026, 1, 1, tzinfo=UTC),
        timedelta(0),
        {"agent": CustomReading("agent", {"api_token": "Fake0hunter2"})},
    )
    assert facts_of(custom)["agent.api_token"] == "[redacted]"


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("xoxb-" + "123456789012-aB3dE5gH7jK9mN1pQ3rS", "(redacted: Slack token)"),
        ("8412345678:AAHx4Kq9Zt" + "R2mVb7LwYc1NsJd8HfGp5UaQe", "(redacted: Telegram token)"),
        ("DHHC-1:00:ia6zGodOr4SEG0Zzaw398rpY0" + "wqipUWj4jWjUh4HWUz6aQ2n:", "DHHC-#:#:(redacted):"),
    ],
)
def test_key_in_a_line_of_the_kernel_is_no_fact_and_half_of_one_neither(key: str, said: str) -> None:
    for before in ("", "q" * 20 + " ", "q" * 35 + " "):
        event = KernelEvent("complaint", f"[100.1] n1 kernel: foo: {before}{key}", timedelta(seconds=100), "foo:")
        facts = facts_of(b.node(KernelLogReading("journal", 9, (event,), ("complaint",))))
        (name,) = [where for where in facts if "foo" in where]
        wording = f"foo: {before}{said}"[:60].strip()
        assert name == f"kernel_log.events[complaint {wording}]"
    assert dict(_facts_of_value("x", ("http://bob:Hunter2xyz@h",))) == {"x[http://bob:(redacted)@h]": "there"}
