"""Probes and causes that packages beside this program bring: let in they take part, mistaken they are left out."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import program

ROOT = Path(__file__).parents[2]
PROBE = """from dataclasses import dataclass
from typing import ClassVar

from bot.domain.command import Command
from bot.domain.probe import Probe


@dataclass(frozen=True)
class TideReading:
    probe: ClassVar[str] = "tide"
    metres: int


def parse(outputs):
    return TideReading(int(outputs.text("metres")))


PROBE = Probe("tide", "tide", (Command("metres", ("echo", "4")),), parse, reading=TideReading)
"""
CAUSE = """from bot.domain.cause import Cause, Threshold
from bot.domain.probe import Unread
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided
from worn_tides import TideReading


def evaluate(snapshot, tuning):
    tide = snapshot.get(TideReading)
    if isinstance(tide, Unread):
        return Undecided("flooded", f"the tide was not read ({tide.reason})")
    if tide.metres < tuning["metres_many"]:
        return RuledOut("flooded", f"{tide.metres} m")
    seen = Evidence("high-water", "tide", f"{tide.metres} m")
    return Finding("flooded", Status.DEGRADED, Confidence.CONFIRMED, "It is under water.", (seen,))


CAUSE = Cause("flooded", "Flooded", ("tide",), {"metres_many": Threshold(3, "as measured")}, evaluate, Status.DEGRADED)
"""


class Site:
    """A folder with a package beside the program, and the settings that let it in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write(PROBE, CAUSE)
        information = folder / "worn_tides-1.dist-info"
        information.mkdir()
        (information / "METADATA").write_text("Metadata-Version: 2.1\nName: worn-tides\nVersion: 1\n")
        (information / "entry_points.txt").write_text(
            "[zombie.probes]\ntide = worn_tides:PROBE\n[zombie.causes]\nflooded = worn_floods:CAUSE\n"
        )
        self.let_in("tide", "flooded")

    def write(self, probe: str, cause: str) -> None:
        (self.folder / "worn_tides.py").write_text(probe)
        (self.folder / "worn_floods.py").write_text(cause)

    def let_in(self, *names: str) -> None:
        (self.folder / "zombie.toml").write_text(f"[extras]\non = {json.dumps(names)}\n")

    def environ(self) -> dict[str, str]:
        return {
            **program.environment(self.folder),
            "PYTHONPATH": f"{ROOT}:{self.folder}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def zombie(self, *words: str) -> subprocess.CompletedProcess[str]:
        return program.zombie(*words, cwd=self.folder, env=self.environ())

    def checked(self) -> tuple[dict[str, Any], str]:
        done = self.zombie("check", "--local", "--samples", "1", "--json")
        assert done.returncode in (0, 1, 3), done.stderr
        node: dict[str, Any] = json.loads(done.stdout)["nodes"][0]
        return node, done.stderr


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def undecided(node: dict[str, Any]) -> dict[str, str]:
    return {each["cause"]: each["because"] for each in node["undecided"]}


def test_they_take_part_once_they_are_let_in_and_not_before(site: Site) -> None:
    node, said = site.checked()
    assert "high-water" in {each["finding"] for each in node["evidence"]}, node
    assert (node["readings"]["tide"]["metres"], said) == (4, "")
    assert "flooded" in site.zombie("playbooks").stdout
    site.let_in()
    assert "tide" not in site.checked()[0]["readings"]
    assert "flooded" not in site.zombie("playbooks").stdout


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("def evaluate", "def evaluate(", "7: SyntaxError: "),
        ("import TideReading", "import TideRaeding", "4: ImportError: "),
        ('Cause("flooded"', 'Cause("other"', "17: CAUSE is no Cause of the name flooded"),
        ('("tide",)', '("tied",)', "17: flooded needs the probe tied, which nobody has. Did you mean tide?"),
        (
            '{"metres_many": Threshold(3, "as measured")}',
            '("metres_many",)',
            "17: thresholds of flooded have no values; write each as name: Threshold(value, reason)",
        ),
        ("tide.metres < tuning", "tide.meters < tuning", "11: AttributeError: "),
        ("evaluate, Status.DEGRADED)", 'evaluate, remedy=("reboot",))', "17: remedy of flooded: a reboot needs"),
    ],
)
def test_cause_with_a_mistake_is_named_with_file_and_line_and_never_cleared(
    site: Site, old: str, new: str, says: str
) -> None:
    assert old in CAUSE
    site.write(PROBE, CAUSE.replace(old, new))
    node, said = site.checked()
    says = f"{site.folder}/worn_floods.py:{says}"
    assert says in undecided(node)["flooded"]
    assert node["status"] != "healthy"
    assert "flooded" not in {each["cause"] for each in node["ruled_out"]}
    assert "Traceback" not in said
    if "AttributeError" not in says:  # that shows on a node
        assert says in said
    if "SyntaxError" in says:
        (site.folder / "inventory.toml").write_text('[nodes.none]\naddress = "127.0.0.1"\nport = 1\n')
        looked = "".join(site.zombie("doctor", "--inventory", "inventory.toml").stdout.split())
        assert "".join(says.split()) in looked
        assert "undecidedoneverynode" in looked
        assert "anditisoff" not in looked


def test_probe_with_a_mistake_is_named_and_what_needs_it_is_open(site: Site) -> None:
    site.write(PROBE.replace("PROBE = Probe(", "PROBE = Prob("), CAUSE)
    node, said = site.checked()
    assert "worn_tides.py:18: NameError: " in undecided(node)["probe tide"]
    assert "flooded" in undecided(node)
    assert "worn_tides.py:18: NameError: " in said
    site.write(PROBE.replace("int(outputs", "int('m' + outputs"), CAUSE)
    node, _ = site.checked()
    (unread,) = (each for each in node["unread"] if each["probe"] == "tide")
    assert "worn_tides.py:15: ValueError: " in unread["reason"]
    assert "flooded" in undecided(node)


def test_none_of_ours_is_replaced(site: Site) -> None:
    information = site.folder / "worn_tides-1.dist-info" / "entry_points.txt"
    information.write_text("[zombie.causes]\ndisk-full = worn_floods:CAUSE\n[zombie.probes]\ncpu = worn_tides:PROBE\n")
    site.let_in("disk-full", "cpu")
    node, _ = site.checked()
    assert "there is a disk-full, and none is replaced" in undecided(node)["cause disk-full"]
    assert "there is a cpu, and none is replaced" in undecided(node)["probe cpu"]
    assert "cpu" in node["readings"]
    assert "disk-full" in {each["cause"] for each in node["ruled_out"]} | {node["cause"]}


def test_digest_says_which_version_was_judged_with(site: Site) -> None:
    def digest(*names: str) -> str:
        ask = "from bot.app import plugins; from bot.app.factories import library; plugins.enable_plugins({}); "
        code = ask.format([*names]) + "print(library().get('node-health').digest)"
        with program.Started(script=code, cwd=site.folder, env=site.environ()) as run:
            out, err = run.communicate()
        assert run.returncode == 0, err
        return out

    without, whole = digest(), digest("tide", "flooded")
    site.write(PROBE, CAUSE.replace("def evaluate", "def evaluate("))
    broken = digest("tide", "flooded")
    site.write(PROBE, CAUSE)
    (site.folder / "worn_tides-1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: worn-tides\nVersion: 2\n"
    )
    assert len({without, whole, broken, digest("tide", "flooded")}) == 4
