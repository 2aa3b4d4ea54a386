"""docs/playbooks.md is true: its example runs on this machine, its fields and words are those of the program."""

import re
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from bot.app.factories import library
from bot.library.kinds import fields_of
from bot.library.kleene import ARITHMETIC, FUNCTIONS
from bot.library.shapes import ConditionShape, PlaybookShape, ProbeShape
from bot.probes import PROBES
from tests.commandline import CommandLine
from tests.reference import COMMAND, KINDS

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/playbooks.md").read_text()
EXAMPLES = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)


def test_every_field_is_listed_with_its_kind_and_no_other() -> None:
    listed = dict(
        re.findall(r"^\| `(\w+\.\w+)` \| ([a-z ]+) \|", (ROOT / "docs/readings.md").read_text(), re.MULTILINE)
    )
    real = {
        f"{name}.{field}": KINDS[kind]
        for name, probe in PROBES.items()
        for field, kind in fields_of(probe.reading).items()
    }
    assert len(real) > 100
    assert listed == real, f"docs/readings.md is behind the code: {COMMAND}"


def test_words_of_a_condition_are_those_that_it_has() -> None:
    part = GUIDE.partition("## Conditions")[2].partition("## Causes")[0]
    assert set(re.findall(r"`(\w+)\(…", part)) == set(FUNCTIONS)
    signs = set(re.findall(r"`([^`\w, ]{1,2})`", part))
    assert {"+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">="} == signs
    assert len(ARITHMETIC) == 7
    for kind in (ConditionShape, PlaybookShape, ProbeShape):
        for key in kind.__dataclass_fields__:
            assert f"`{key}`" in GUIDE, f"{kind.__name__}.{key}"


def test_example_runs_on_this_machine_as_the_guide_types_it(run: CommandLine) -> None:
    folder = Path("my-playbooks")
    folder.mkdir()
    (folder / "tmp-space.yaml").write_text(EXAMPLES[0])
    check, judge = re.search(r"```sh\n(zombie playbooks check.*?)```", GUIDE, re.DOTALL)[1].strip().splitlines()  # type: ignore[index]
    done = run(*check.split()[1:])
    assert (done.status, "tmp-space is valid" in done.out) == (0, True), done.err
    (node,) = run(*judge.split()[1:], "--samples", "1", "--json").json["nodes"]
    assert 0 <= node["readings"]["scratch"]["fields"]["used_percent"] <= 100
    assert node["status"] in ("healthy", "degraded")

    full = EXAMPLES[0].replace("> 95", ">= 0")
    (folder / "tmp-space.yaml").write_text(full)
    (node,) = run(*judge.split()[1:], "--samples", "1", "--json").json["nodes"]
    assert (node["status"], node["cause"], node["confidence"]) == ("degraded", "scratch-disk-full", "confirmed")


@pytest.mark.parametrize("text", EXAMPLES, ids=range(len(EXAMPLES)))
def test_examples_fit_the_schema_and_the_checker(text: str, tmp_path: Path) -> None:
    known = library()
    file = tmp_path / "example.yaml"
    file.write_text(text)
    known.check_file(file)
    assert list(Draft202012Validator(known.json_schema()).iter_errors(yaml.safe_load(text))) == []


def test_broken_file_is_left_out_and_named_and_the_others_serve(run: CommandLine) -> None:
    folder = Path("mine")
    folder.mkdir()
    (folder / "good.yaml").write_text(EXAMPLES[0])
    (folder / "bad.yaml").write_text("name: our-own\ntitle: x\nversion: 1\nprobes: [nope]\n")
    (folder / "ours.yaml").write_text("name: failed-units\ntitle: [\n")
    (folder / "above.yaml").write_text("name: above\ntitle: x\nversion: 1\nextends: our-own\n")
    done = run("check", "--local", "--samples", "1", "--playbooks", "mine", "-p", "tmp-space")
    assert done.status in (0, 1), done.err
    assert re.search(r"bad\.yaml:4: unknown probe (?s:.*)left out", done.err)
    for name, says in (("our-own", "bad.yaml:4"), ("failed-units", "ours.yaml:3"), ("above", "bad.yaml:4")):
        done = run("check", "--local", "--playbooks", "mine", "-p", name)
        assert (done.status, says in done.err) == (2, True), done.err


def test_fields_of_a_probe_are_printed(run: CommandLine) -> None:
    assert "cgroups.dying  a number\n" in run("playbooks", "fields", "cgroups").out
    done = run("playbooks", "fields", "cgroup")
    assert (done.status, "cgroups" in done.err) == (2, True)
