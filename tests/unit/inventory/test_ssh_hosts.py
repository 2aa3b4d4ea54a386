"""An OpenSSH client configuration lends its hosts' names, and nothing that only sets defaults becomes a name."""

import time
from pathlib import Path

import pytest
from asyncssh.pattern import WildcardPatternList
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.domain.errors import InventoryError, UnknownNode
from bot.inventory import Inventory
from bot.inventory.ssh_hosts import SshHosts, _Block


def hosts(tmp_path: Path, text: str) -> SshHosts:
    path = tmp_path / "ssh_config"
    path.write_text(text)
    return SshHosts.read(path, tmp_path / "home")


def test_literal_hosts_are_names(tmp_path: Path) -> None:
    read = hosts(tmp_path, 'Host a b\n  User x\nHOST=c\nhost = d # not this\nHost "e" gpu-*\n# Host f\nHostName g\n')
    assert read.names == ("a", "b", "c", "d", "e")
    assert read.patterns == ("gpu-*",)


@pytest.mark.parametrize(
    ("text", "allowed", "refused"),
    [
        ("Host gpu-*", ["gpu-1", "gpu-", "gpu-1.example.org"], ["gpu", "GPU-1", "xgpu-1"]),
        ("Host gpu-* !gpu-9", ["gpu-1"], ["gpu-9"]),
        ("Host gpu-9 !gpu-*", [], ["gpu-9"]),
        ("Host *", [], ["anything", "localhost"]),
        ("Host * !bastion", [], ["anything", "bastion"]),
        ("Host * gpu-1", ["gpu-1"], ["gpu-2"]),
        ("Host a[bc]", [], ["ab", "ac"]),
        ("Match host gpu-1\nMatch originalhost a", [], ["gpu-1", "a"]),
        ("Match all\nHost a", ["a"], []),
    ],
)
def test_name_is_allowed_when_a_host_line_names_it(
    tmp_path: Path, text: str, allowed: list[str], refused: list[str]
) -> None:
    read = hosts(tmp_path, text)
    assert [name for name in (*allowed, *refused) if read.allows(name)] == allowed


def test_host_that_cannot_be_a_node_is_passed_over(tmp_path: Path) -> None:
    assert hosts(tmp_path, "Host ok ::1 _x a@b gone !gone").names == ("ok",)


def test_include_is_followed_by_absolute_path_home_and_glob(tmp_path: Path) -> None:
    ssh = tmp_path / "home" / ".ssh"
    (ssh / "conf.d").mkdir(parents=True)
    (ssh / "conf.d" / "1").write_text("Host one")
    (ssh / "conf.d" / "2").write_text("Include ~/.ssh/more\nHost two")
    (ssh / "more").write_text("Host three")
    (tmp_path / "far").write_text("Host far")
    text = f"Include conf.d/* gone/*\nInclude {tmp_path}/far\nHost last"
    assert hosts(tmp_path, text).names == ("one", "three", "two", "far", "last")


def test_include_beside_a_file_outside_of_home_is_told_how_ssh_would_find_it(tmp_path: Path) -> None:
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "1").write_text("Host one")
    with pytest.raises(InventoryError) as refused:
        hosts(tmp_path, "Host a\nInclude conf.d/*\n")
    assert "ssh_config:2: Include conf.d/*: OpenSSH looks for this in ~/.ssh" in str(refused.value)
    assert f"Write Include {tmp_path}/conf.d/*" in str(refused.value)


def test_include_inside_a_host_block_counts_for_that_host_alone(tmp_path: Path) -> None:
    (tmp_path / "more").write_text("Host gpu-1\nHost cpu-1\n")
    read = hosts(tmp_path, f"Host gpu-*\n  Include {tmp_path}/more\nMatch all\n  Include {tmp_path}/never\n")
    assert read.names == ("gpu-1",)
    assert not read.allows("cpu-1")


def test_file_that_includes_itself_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InventoryError, match="does one include itself"):
        hosts(tmp_path, f"Include {tmp_path}/ssh_config\nInclude {tmp_path}/ssh_config\n")


def test_open_quote_is_told_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(InventoryError, match=r"ssh_config:2: cannot be understood: No closing quotation"):
        hosts(tmp_path, 'User x\nHost "a\n')


def test_open_quote_elsewhere_is_left_to_the_ssh_library(tmp_path: Path) -> None:
    assert hosts(tmp_path, "Host a\n  ProxyCommand echo it's fine\n").names == ("a",)


def test_missing_configuration_is_named(tmp_path: Path) -> None:
    (tmp_path / "inventory.toml").write_text('[ssh]\nconfig = "gone"\n')
    with pytest.raises(InventoryError, match=r"gone: the configuration cannot be read: No such file"):
        Inventory.load(tmp_path / "inventory.toml")


def test_inventory_finds_hosts_of_the_configuration_and_leaves_the_rest_to_it(tmp_path: Path) -> None:
    (tmp_path / "ssh_config").write_text("Host bastion\nHost gpu-* !gpu-9\n  ProxyJump bastion\nHost *\n  User z\n")
    (tmp_path / "inventory.toml").write_text('[ssh]\nconfig = "ssh_config"\nkey = "id"\n[nodes.bastion]\nport = 23\n')
    inventory = Inventory.load(tmp_path / "inventory.toml")
    assert inventory.names == ("bastion",)
    assert inventory.find("bastion").port == 23
    node = inventory.find("gpu-1")
    assert (node.name, node.address, node.port, node.user) == ("gpu-1", "gpu-1", None, None)
    assert (node.ssh_config, node.key) == (tmp_path / "ssh_config", tmp_path / "id")
    for name in ("gpu-9", "other"):
        with pytest.raises(UnknownNode):
            inventory.find(name)
    with pytest.raises(UnknownNode, match=r"names that fit gpu-\*"):
        inventory.find("zzz")


_PATTERN = st.text("ab-.*?", min_size=1, max_size=8)


@given(st.lists(st.tuples(st.booleans(), _PATTERN), min_size=1, max_size=4), st.text("ab-.", min_size=1, max_size=10))
@settings(deadline=None)
@example([(False, "*a*b*a*")], "aabbaba")
def test_patterns_match_as_the_ssh_library_matches_them(words: list[tuple[bool, str]], name: str) -> None:
    patterns = tuple(("!" if negated else "") + word for negated, word in words)
    assert _Block(patterns).matches(name) == WildcardPatternList(",".join(patterns)).matches(name)


def test_pattern_of_many_stars_is_quick() -> None:
    assert not _Block(("*a" * 2000 + "b",)).matches("a" * 250)


def test_configuration_of_thousands_of_hosts_is_quick(tmp_path: Path) -> None:
    began = time.process_time()
    read = hosts(tmp_path, "".join(f"Host node-{number}\n  User x\n" for number in range(5000)))
    assert len(read.names) == 5000
    assert time.process_time() - began < 2
