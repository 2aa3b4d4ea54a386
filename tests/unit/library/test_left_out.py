"""A site's own cause or row with a mistake: named with file and line, left out, never cleared, and the rest goes on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.app.factories import library
from bot.domain.action import KEEPS
from bot.domain.errors import PlaybookError
from bot.domain.evaluation import evaluate_playbook
from bot.domain.protected import is_essential, is_protected
from bot.domain.safe_text import redacted_text
from bot.domain.verdict import Status, Verdict
from bot.library import Library
from bot.probes.conntrack import ConntrackReading
from bot.probes.formats.kernel_table import table
from bot.response.decision.preflight import impact_newly_unread
from bot.response.diagnosis.plan_impact import ended_by_reboot
from tests.commandline import CommandLine
from tests.unit.causes import builders as b
from tests.unit.library.tables import written

CAUSE = """cause: worn
title: Worn
about: It is worn.
lasting_fix: Another.
evidence:
  - {name: full, when: conntrack.count > 5, says: "{conntrack.count} of them"}
otherwise:
  - {ruled_out: it is not}
examples:
  - {then: undecided}
"""
BROKEN = CAUSE.replace("conntrack.count > 5", "conntrack.cuont > 5")
UNITS = '[acme]\nis = ["protected"]\nnames = ["acme-store"]\n\n[more]\nis = ["essential"]\nnames = ["acme-more"]\n'
KERNEL = """[acme.gone]
lines = ['acme: engine gone']
has = ["engine gone"]
seen = ["acme: engine gone"]

[heat.hot]
lines = ['acme: engine hot']
has = ["engine hot"]
seen = ["acme: engine hot"]
"""
USUAL = "node-health"
FULL, EMPTY = ConntrackReading(True, 97, 100, ("count 97",)), ConntrackReading(True, 1, 100, ("count 1",))


def books(site: Path) -> Library:
    return library([site], USUAL)


def judged(site: Path, *readings: Any, name: str = USUAL) -> Verdict:
    return evaluate_playbook(b.node(*readings), books(site).get(name))


def open_of(verdict: Verdict) -> dict[str, str]:
    return {each.cause: each.says for each in verdict.undecided}


def test_cause_with_a_mistake_is_undecided_and_named_and_nothing_is_called_healthy(site: Path) -> None:
    assert judged(written(site, CAUSE), EMPTY).status is Status.HEALTHY
    verdict = judged(written(site, BROKEN), EMPTY)
    assert f"{site}/causes/worn.yaml:6: when: " in open_of(verdict)["worn"]
    assert 'no field "cuont"' in open_of(verdict)["worn"]
    assert (verdict.status, verdict.cause) == (Status.UNKNOWN, None)
    assert verdict.summary.startswith("Cannot tell: worn cannot be judged: it is left out: ")
    assert verdict.try_next == "Mending it would decide it."
    assert "worn" not in {each.cause for each in verdict.ruled_out}


def test_what_ours_find_stands_as_without_the_site(site: Path) -> None:
    drops = b.log(b.event("conntrack-full"))
    for reading in ((FULL,), (FULL, drops)):
        ours, theirs = (
            evaluate_playbook(b.node(*reading), library(usual=USUAL).get()),
            judged(written(site, BROKEN), *reading),
        )
        assert ours.cause == "conntrack-full"
        assert open_of(theirs).keys() - open_of(ours).keys() == {"worn"}
        assert replace(theirs, undecided=(), snapshot=None) == replace(ours, undecided=(), snapshot=None)


def test_playbook_that_names_it_goes_on_and_puts_no_plan_before_it(site: Path) -> None:
    (site / "ours.yaml").write_text(
        "name: ours\ntitle: Ours\nversion: 1\nextends: node-health\n"
        "causes: {worn: {thresholds: {many: {value: 5, reason: ours}}}, conntrack-full: {}}\n"
    )
    found = books(written(site, BROKEN))
    assert not {"ours", "node-health"} & found.left_out.keys()
    assert [used.cause.name for used in found.get("ours").causes] == ["worn", "conntrack-full"]
    assert judged(site, FULL, name="ours").cause == "conntrack-full"
    assert "worn" not in {used.cause.name for used in found.get("zombie-cgroups").causes}, "it does not ask for it"


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("worn", CAUSE.replace("cause: worn", "cause: worm"), "worn.yaml:1: the cause is called worm"),
        ("worn", "cause: [", "worn.yaml:"),
        ("worn", "", "worn.yaml: the file is empty"),
        ("conntrack-full", CAUSE.replace("worn", "conntrack-full", 1), "conntrack-full.yaml:1: there is a cause"),
        ("No Slug", CAUSE, "No Slug.yaml:1: the cause is called worn"),
    ],
)
def test_every_kind_of_mistake_leaves_out_the_file_alone(site: Path, name: str, text: str, says: str) -> None:
    (site / "causes" / f"{name}.yaml").write_text(text)
    (site / "causes" / "fine.yaml").write_text(CAUSE.replace("worn", "fine", 1))
    found = books(site)
    mistaken = "conntrack-full.yaml" if name == "conntrack-full" else name
    assert list(found.rules_left_out) == [mistaken]
    assert says in found.rules_left_out[mistaken]
    causes = [used.cause for used in found.get().causes]
    assert {"fine", mistaken, "conntrack-full"} <= {cause.name for cause in causes}
    assert [cause.left_out != "" for cause in causes if cause.name == "conntrack-full"] == [False], "ours stays"


def test_cause_that_fails_on_a_node_s_readings_takes_no_verdict_down(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = books(written(site, CAUSE)).get()
    (own,) = (used for used in book.causes if used.cause.name == "worn")

    def fails(*_: object) -> Any:
        raise KeyError("engine")

    mistaken = replace(own, cause=replace(own.cause, evaluate=fails))
    others = tuple(used for used in book.causes if used is not own)
    verdict = evaluate_playbook(b.node(EMPTY), replace(book, causes=(*others, mistaken)))
    assert verdict.status is Status.UNKNOWN
    line = fails.__code__.co_firstlineno + 1
    assert (
        open_of(verdict)["worn"] == f"it is left out: {__file__}:{line}: KeyError: 'engine'; mending it would decide it"
    )
    ours = replace(others[0], cause=replace(others[0].cause, evaluate=fails))
    with pytest.raises(KeyError):  # a mistake of the program is one
        evaluate_playbook(b.node(EMPTY), replace(book, causes=(ours,)))


def test_digest_says_what_was_judged_with(site: Path) -> None:
    def digest() -> str:
        return books(site).get().digest

    without, whole = digest(), books(written(site, CAUSE)).get().digest
    broken = books(written(site, BROKEN)).get().digest
    assert len({without, whole, broken}) == 3
    assert books(written(site, BROKEN.replace("cuont", "cont"))).get().digest == broken, "both judge alike"
    written(site, CAUSE, kernel_log=KERNEL)
    one_row = KERNEL.partition("[heat.hot]")[0]
    mistaken = digest()
    written(site, kernel_log=one_row)
    assert digest() not in (mistaken, whole)
    written(site, kernel_log=KERNEL.replace("heat.hot", "acme.hot"))
    assert digest() != mistaken


def test_row_with_a_mistake_is_left_out_and_the_others_are_known(site: Path) -> None:
    verdict = judged(written(site, kernel_log=KERNEL), EMPTY)
    assert {row.name for row in table().of_sites} == {"acme.gone"}
    assert "kernel-log.toml:6: " in open_of(verdict)["kernel-log.toml heat.hot"]
    assert verdict.status is Status.UNKNOWN
    assert "kernel-log.toml heat.hot" in open_of(judged(site, name="network-resets")), "whoever reads the log is told"


def test_table_that_is_no_toml_is_left_out_whole(site: Path) -> None:
    verdict = judged(written(site, kernel_log="[acme", xid="[166]\nkind = 'fault'\n"), EMPTY)
    assert "kernel-log.toml:1: not TOML" in open_of(verdict)["kernel-log.toml"]
    assert 'xid.toml:1: "166" needs name and action' in open_of(verdict)["xid.toml 166"]


def test_while_units_have_a_mistake_none_is_stopped_and_the_others_are_known(site: Path) -> None:
    books(written(site, units=UNITS))
    assert (is_protected(["acme-store.service"]), is_protected(["ecs.service"])) == (True, False)
    verdict = judged(written(site, units=UNITS.replace('"protected"', '"protect"')), EMPTY)
    assert is_protected(["ecs.service"])
    assert is_essential(["acme-more.service"])
    assert 'units.toml:2: a unit of a site cannot be "protect"' in open_of(verdict)["units.toml acme"]


def test_while_units_have_a_mistake_what_a_reboot_ends_is_not_known_and_an_older_plan_refused(
    site: Path,
) -> None:
    store = '[acme]\nis = ["keeps-for-others"]\nnames = ["acme-store"]\n'
    node = b.node(b.units(b.unit("acme-store.service")))
    books(written(site, units=store))
    before = ended_by_reboot(node)
    assert [end.what for end in before.rows if end.kind == KEEPS] == ["acme-store.service"]
    assert not [each for each in before.unread if each.probe.startswith("units")]
    books(written(site, units=store.replace("keeps-for", "keep-for")))
    now = ended_by_reboot(node)
    (unread,) = (each for each in now.unread if each.probe.startswith("units"))
    assert unread.reason == "a row of its units.toml is left out"
    assert [words for words in impact_newly_unread(before, now) if words.startswith("what ends: units")]


def test_name_of_a_function_decides_no_verdict_and_is_named_all_the_same(site: Path) -> None:
    assert judged(written(site, functions='[acme]\nfunctions = "acme_walk"\n'), EMPTY).status is Status.HEALTHY
    assert "functions.toml:1: " in books(site).rules_left_out["functions.toml acme"]


def test_form_of_a_secret_is_never_left_out(site: Path) -> None:
    secret = '[acme]\nform = "acme-[0-9]{9}"\nhas = ["acme-"]\nseen = ["«acme-012345678»"]\n'
    books(written(site, secrets=secret))
    assert "acme-0" not in redacted_text("x acme-012345678")
    with pytest.raises(PlaybookError, match=r"secrets.toml:2: form is not an RE2 expression"):
        books(written(site, secrets=secret.replace("[0-9]", "(?<=a)")))
    assert "acme-0" not in redacted_text("x acme-012345678"), "what was known stays known"


def test_check_fails_with_all_that_is_left_out(site: Path, run: CommandLine) -> None:
    written(site, CAUSE, units=UNITS, kernel_log=KERNEL.replace("heat.hot", "acme.hot"))
    assert run("playbooks", "check", str(site)).status == 0
    written(site, BROKEN, units=UNITS.replace('"protected"', '"protect"'))
    status, _, told = run("playbooks", "check", str(site))
    assert status == 2
    assert "worn.yaml:6: " in told
    assert "units.toml:2: " in told
