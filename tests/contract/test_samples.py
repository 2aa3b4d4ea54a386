"""The sample files of `deploy/`: nothing is missing or misspelt in them, and every default is the real one."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from bot.app.extras import shipped
from bot.inventory import Inventory
from bot.settings import Settings, all_keys
from tests.reference import COMMAND
from tests.sample import by_table, sample, uncommented

DEPLOY = Path(__file__).parents[2] / "deploy"
SAMPLE = (DEPLOY / "zombie.toml").read_text()


def loaded(folder: Path, text: str) -> Settings:
    (folder / "zombie.toml").write_text(text)
    return Settings.load({}, {}, folder, Path("/home/someone"), shipped().settings)


def test_sample_is_as_the_settings_say() -> None:
    assert sample() == SAMPLE, f"run {COMMAND}"


def test_every_setting_stands_there_once_with_what_it_is_for() -> None:
    listed = by_table()
    known = {key.toml for keys in all_keys(shipped().settings).values() for key in keys.values() if key.toml}
    of_file = {f"{table}.{key}" if table else key for table, keys in listed.items() for key in keys}
    assert known <= of_file | {"links"}
    assert {key.rpartition(".")[0] for key in of_file - known} == {"[route]", "[sweep]"}
    assert [name for keys in listed.values() for name, key in keys.items() if not key.help.endswith(".")] == []
    read = tomllib.loads(uncommented(SAMPLE))  # a key that stands there twice is refused
    assert read.pop("links")
    for table, keys in listed.items():
        name, _, inner = table.strip("[]").partition(".")
        there = read if not table else read[name][0] if table.startswith("[") else read[name]
        assert (
            list(keys) == [key for key in (there[inner] if inner else there) if table or key not in listed][: len(keys)]
        )


def test_sample_as_it_stands_changes_nothing(tmp_path: Path) -> None:
    nothing, as_it_stands = loaded(tmp_path, ""), loaded(tmp_path, SAMPLE)
    for name in Settings.__dataclass_fields__.keys() - {"given", "written"}:
        assert getattr(nothing, name) == getattr(as_it_stands, name), name


def test_uncommented_it_loads_with_the_real_defaults(tmp_path: Path) -> None:
    nothing, every = loaded(tmp_path, ""), loaded(tmp_path, uncommented(SAMPLE))
    defaults = {given.key.toml: given.value for given in nothing.given if given.key.toml}
    now = {given.key.toml: given for given in every.given if given.key.toml}
    assert {given.origin.partition(":")[0] for given in now.values()} == {str(tmp_path / "zombie.toml")}
    examples = {key for key, given in now.items() if given.value != defaults[key]}
    assert {key for key in examples if not now[key].key.like} == set()
    for given in now.values():
        assert given.key.like or given.value == given.key.default, given.key.toml
        assert not given.key.like or given.key.default in (None, "", (), frozenset(), {}), given.key.toml
    assert len(every.routes) == 1
    assert every.links


def test_sample_of_the_inventory_has_every_key_and_loads(tmp_path: Path) -> None:
    text = (DEPLOY / "inventory.toml").read_text()
    (tmp_path / "inventory.toml").write_text(text)
    assert [node.name for node in Inventory.load(tmp_path / "inventory.toml", home=tmp_path).nodes] == ["node-123"]
    whole = re.sub(r"^# (?=\[|\w+ = )", "", text, flags=re.MULTILINE)
    (tmp_path / "ssh_config").write_text("Host bastion-1\n  User zombie\n")
    (tmp_path / "inventory.toml").write_text(whole)
    assert {"node-123", "bastion-1"} <= {
        node.name for node in Inventory.load(tmp_path / "inventory.toml", home=tmp_path).nodes
    }
    pages = "".join((DEPLOY.parent / "docs" / name).read_text() for name in ("reference.md", "inventories.md"))
    of_page = re.search(r"^\| key of `\[ssh\]`.*?(?=^## )", pages, re.MULTILINE | re.DOTALL)
    assert of_page is not None
    named = {
        key for cell in re.findall(r"^\| (`[^|]+) \|", of_page[0], re.MULTILINE) for key in re.findall(r"`(\w+)`", cell)
    }
    (example,) = re.findall(r"```toml\n(\[ssh\].*?)```", pages, re.DOTALL)
    read, documented = tomllib.loads(whole), tomllib.loads(example)
    assert named == set(read["ssh"]) | set(read["nodes"]["node-123"])
    assert {table: set(documented[table]) for table in ("kubernetes", "ec2")} == {
        table: set(read[table]) for table in ("kubernetes", "ec2")
    }
