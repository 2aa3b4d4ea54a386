"""An inventory finds exactly the names it holds, and says by line what is wrong with its file."""

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.errors import InventoryError, UnknownNode
from bot.domain.node import Node
from bot.inventory import Inventory

HOME = Path("/home/someone")
WHOLE = """\
[ssh]
user = "zombie"
key = "keys/id_ed25519"
known_hosts = "~/.ssh/known_hosts"
port = 2222
connect_timeout = "7s"

[nodes.node-123]
address = "10.0.0.7"
port = 22
user = "admin"
labels = { instance_id = "i-0abc", private_dns = "ip-10-0-0-7.ec2.internal" }

[nodes."gpu-1.example.org"]
"""


def load(tmp_path: Path, text: str, home: Path | None = HOME) -> Inventory:
    path = tmp_path / "inventory.toml"
    path.write_text(text)
    return Inventory.load(path, home)


def refusal(tmp_path: Path, text: str) -> str:
    """What is said of the file, without the folder it is in."""
    with pytest.raises(InventoryError) as refused:
        load(tmp_path, text)
    return str(refused.value).replace(f"{tmp_path}/", "")


def test_node_has_what_its_table_says_and_the_shared_settings_for_the_rest(tmp_path: Path) -> None:
    node = load(tmp_path, WHOLE).find("node-123")
    assert (node.name, node.address, node.port, node.user) == ("node-123", "10.0.0.7", 22, "admin")
    assert node.key == tmp_path / "keys/id_ed25519"
    assert node.known_hosts == HOME / ".ssh/known_hosts"
    assert node.connect_timeout == timedelta(seconds=7)
    assert node.labels == {"instance_id": "i-0abc", "private_dns": "ip-10-0-0-7.ec2.internal"}


def test_names_that_lead_to_one_machine_stay_apart_where_one_file_lists_them(tmp_path: Path) -> None:
    text = "".join(f'[nodes.{name}]\nlabels = {{ instance_id = "i-0abc" }}\n' for name in ("node-1", "node-2"))
    assert load(tmp_path, text).names == ("node-1", "node-2")


def test_node_without_address_is_reached_by_its_name(tmp_path: Path) -> None:
    node = load(tmp_path, WHOLE).find("gpu-1.example.org")
    assert (node.address, node.port, node.user) == ("gpu-1.example.org", 2222, "zombie")


def test_names_keep_the_order_of_the_file(tmp_path: Path) -> None:
    inventory = load(tmp_path, WHOLE)
    assert inventory.names == ("node-123", "gpu-1.example.org")
    assert [node.name for node in inventory.nodes] == list(inventory.names)


def test_file_without_shared_settings_leaves_them_to_ssh(tmp_path: Path) -> None:
    node = load(tmp_path, "[nodes.a]\n").find("a")
    assert (node.port, node.user, node.key, node.known_hosts, node.ssh_config) == (None, None, None, None, None)


def test_timeout_may_be_bare_seconds(tmp_path: Path) -> None:
    text = "[ssh]\nconnect_timeout = 2.5\n[nodes.a]\n"
    assert load(tmp_path, text).find("a").connect_timeout == timedelta(seconds=2.5)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("node-132", "Did you mean node-123?"),
        ("NODE-123", "Did you mean node-123?"),
        ("gpu-1", "Did you mean gpu-1.example.org?"),
        ("localhost", "It has 2 nodes; none is near."),
    ],
)
def test_unknown_name_lists_near_ones_and_finds_nothing(tmp_path: Path, asked: str, says: str) -> None:
    with pytest.raises(UnknownNode) as unknown:
        load(tmp_path, WHOLE).find(asked)
    assert asked in unknown.value.sentence
    assert unknown.value.try_next == says


def test_empty_inventory_says_how_to_add_the_node(tmp_path: Path) -> None:
    with pytest.raises(UnknownNode, match=r'\[nodes\."a\.b"\]'):
        load(tmp_path, "").find("a.b")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "-oProxyCommand=id",
        "a\n",
        "../etc",
        "$(id)",
        "ünï",
        "a" * 254,
        "‮a",
    ],
)
def test_what_cannot_be_a_name_is_refused_before_it_is_looked_up(tmp_path: Path, name: str) -> None:
    with pytest.raises(InventoryError, match="is not a node name") as refused:
        load(tmp_path, WHOLE).find(name)
    assert not isinstance(refused.value, UnknownNode)


@given(st.text(max_size=300))
@settings(deadline=None)
def test_no_text_is_ever_taken_for_another_name(name: str) -> None:
    inventory = Inventory({"node-123": _node()}, "inventory.toml")
    if name == "node-123":
        return
    with pytest.raises(InventoryError):
        inventory.find(name)


def _node() -> Node:
    return Node("node-123", "10.0.0.7")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[ssh]\nprot = 22\n", 'inventory.toml:2: unknown key "prot" in [ssh]. Did you mean port?'),
        ("[nodes.a]\nadress = 'x'\n", 'inventory.toml:2: unknown key "adress" in [nodes.a]. Did you mean address?'),
        ("[nodes.a]\nport = 70000\n", "inventory.toml:2: nodes.a.port is 70000; it should be from 1 to 65535"),
        (
            "[nodes.a]\nport = '22'\n",
            "inventory.toml:2: nodes.a.port is text; it should be a whole number without quotes",
        ),
        (
            "[nodes.a]\naddress = 'root@h'\n",
            'inventory.toml:2: nodes.a.address holds a user; write address = "h" and user = "root"',
        ),
        (
            "[nodes.a]\naddress = '[::1]:2222'\n",
            'inventory.toml:2: nodes.a.address holds a port; write address = "::1" and port = 2222',
        ),
        (
            "[nodes.a]\naddress = '-oProxyCommand=id'\n",
            'inventory.toml:2: nodes.a.address is "-oProxyCommand=id"; it should be a host name or an IP address',
        ),
        ("[ssh]\nuser = '-l root'\n", 'inventory.toml:2: ssh.user is "-l root", which is not a user name'),
        (
            "[ssh]\nconnect_timeout = 'soon'\n",
            'inventory.toml:2: ssh.connect_timeout is "soon"; a duration is written like "5s", "250ms", "15m" or "2h"',
        ),
        ("[ssh]\nkey = '~other/id'\n", "inventory.toml:2: ssh.key starts with another user's ~; write the whole path"),
        ("[ssh]\nkey = 'a\\u0000'\n".replace("'", '"'), "inventory.toml:2: ssh.key holds control characters"),
        ("[nodes.a.b.c]\n", 'inventory.toml:1: a name with dots needs quotes: [nodes."a.b.c"]'),
        ("[nodes.-a]\n", 'inventory.toml:1: "-a" is not a node name'),
        ("[nodes]\na = 'x'\n", "inventory.toml:2: nodes.a is text; it should be a table: [nodes.a]"),
        (
            "[nodes.a.labels]\nkubernetes_node = '../pods'\n",
            'inventory.toml:2: nodes.a.labels.kubernetes_node is "../pods", not a node\'s name in Kubernetes',
        ),
        ("a = " + "[" * 10_000, "inventory.toml: arrays or tables are nested too deeply"),
        ("[ssh]\n" + "a." * 20_000 + "a = 1", "inventory.toml:2: a key has more than a hundred parts"),
        ("[ssh]\nport = " + "9" * 10_000, "inventory.toml: not TOML: Exceeds the limit"),
    ],
)
def test_fault_is_told_with_its_line_and_what_would_be_right(tmp_path: Path, text: str, says: str) -> None:
    assert refusal(tmp_path, text).startswith(says)


def test_every_fault_of_the_file_is_told_at_once(tmp_path: Path) -> None:
    said = refusal(tmp_path, "[ssh]\nport = 0\n[nodes.a]\nport = 0\n[nodes.b]\nusr = 'x'\n").splitlines()
    assert [line.split(": ")[0] for line in said] == ["inventory.toml:2", "inventory.toml:4", "inventory.toml:6"]


def test_a_hundred_faults_are_cut_short(tmp_path: Path) -> None:
    said = refusal(tmp_path, "".join(f"[nodes.n{i}]\nport = 0\n" for i in range(100))).splitlines()
    assert len(said) == 13
    assert said[-1] == "inventory.toml: … and 88 more"


def test_home_is_needed_only_where_a_path_uses_it(tmp_path: Path) -> None:
    load(tmp_path, "[ssh]\nkey = 'id'\n", home=None)
    with pytest.raises(InventoryError, match=r"inventory\.toml:2: ssh\.key starts with ~, and there is no home folder"):
        load(tmp_path, "[ssh]\nkey = '~/id'\n", home=None)


def test_keys_and_known_hosts_need_not_exist_to_load(tmp_path: Path) -> None:
    node = load(tmp_path, "[ssh]\nkey = 'gone'\nknown_hosts = '/gone/too'\n[nodes.a]\n").find("a")
    assert (node.key, node.known_hosts) == (tmp_path / "gone", Path("/gone/too"))


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InventoryError, match=r"gone\.toml: the inventory cannot be read: No such file"):
        Inventory.load(tmp_path / "gone.toml")


def test_bytes_that_are_no_text_are_told_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "inventory.toml"
    path.write_bytes(b"\xef\xbb\xbf[ssh]\n# caf\xe9\n")
    with pytest.raises(InventoryError, match=r"inventory\.toml:2: the byte 0xe9 is not UTF-8"):
        Inventory.load(path)


def test_byte_order_mark_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "inventory.toml"
    path.write_bytes(b"\xef\xbb\xbf[ssh]\r\nuser = 'z'\r\n[nodes.a]\r\n")
    assert Inventory.load(path).find("a").user == "z"


def test_names_that_differ_in_letter_case_only_are_one_host_and_refused(tmp_path: Path) -> None:
    told = refusal(tmp_path, "[nodes.gpu-1]\n[nodes.gpu-2]\n[nodes.GPU-1]\n[nodes.Gpu-1]\n")
    assert told.splitlines() == [
        'inventory.toml:3: "GPU-1" and "gpu-1" differ in letter case only; keep one of them',
        'inventory.toml:4: "Gpu-1" and "gpu-1" differ in letter case only; keep one of them',
    ]
