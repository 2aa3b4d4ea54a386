"""A site's own rows of each table: added to ours, checked with file and line, and never in place of ours."""

import subprocess
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from bot.app.factories import library
from bot.domain import protected, secret_forms
from bot.domain.builtin_playbooks import SiteRows, builtin_rows
from bot.domain.entry import Head
from bot.domain.errors import PlaybookError
from bot.domain.house_events import HOUSE, BrakePulled
from bot.domain.safe_text import redacted_text
from bot.ledger.entries import chained_entry
from bot.probes.formats import functions as signatures
from bot.probes.formats import gpu_events, kernel_table
from bot.probes.formats.functions import own_signatures, signature_of
from bot.probes.formats.gpu_events import XidKind, own_meanings, xid
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.kernel_log import KernelLogReading, parse
from tests.known import known
from tests.readings.recorded import once
from tests.unit.library.tables import written

UNITS = """[acme]
is = ["essential", "keeps-for-others", "makes-cgroups"]
names = ["acme-store", "acme-*"]
"""
XID = """[166]
kind = "fault"
name = "engine is gone"
action = "reset the GPU"
"""
FUNCTIONS = """[acme-walk]
functions = "acme_walk\\\\w*"
does = "walks our table"
seen = ["acme_walk_all", "acme_walk.isra.0"]
never = ["my_acme_walk"]
"""
SECRETS = """[acme-key]
form = 'acme:(?P<secret>[a-z0-9]{6,40})'
has = ["acme:"]
says = "Acme key"
seen = ["acme:«fake01»"]
never = ["acme: none"]
"""
KERNEL = """[acme.engine]
lines = ['acme_card (?P<device>[0-9a-f:.]+): engine (?:is )?gone']
has = ["engine is gone", "engine gone"]
from = "our own driver"
seen = ["acme_card «device=0000:3b:00.0»: engine gone"]
never = ["acme_card 0000:3b:00.0: engine ready"]
"""
LOG = ["acme_card 0000:3b:00.0: engine gone", "nf_conntrack: table full, dropping packet", "acme: ready"]
_ADDED: tuple[SiteRows[Any], ...] = (
    protected.UNITS_OF_SITES,
    gpu_events.MEANINGS_OF_SITES,
    signatures.SIGNATURES_OF_SITES,
    secret_forms.FORMS_OF_SITES,
    kernel_table.ROWS_OF_SITES,
)


def xid_of(says: str) -> gpu_events.Xid:
    return known(xid(KernelEvent("gpu-error", f"NVRM: Xid (PCI:0000:3b:00): {says}")))


def test_units_of_a_site_are_guarded_like_ours(site: Path) -> None:
    unit = ["acme-store@1.service"]
    assert not protected.is_protected(unit)
    ours = {
        what: protected.units(what) for what in (*protected.OF_SITES, "network", "guest", "kubelet", "never-started")
    }
    library([written(site, units=UNITS)])
    assert protected.is_protected(unit)
    assert protected.is_essential(unit)
    assert protected.makes_cgroups(unit)
    assert protected.data_pattern(unit) == "acme-store"
    assert all(protected.units(what)[: len(names)] == names for what, names in ours.items()), (
        "ours stay, and come first"
    )


def test_code_of_a_site_is_known_but_the_drivers_own_word_outranks_it(site: Path) -> None:
    assert xid_of("166, pid=1, x").meaning == own_meanings()["unlisted"]
    library([written(site, xid=XID.replace("fault", "application"))])
    assert (xid_of("166, pid=1, x").meaning.kind, xid_of("166, x").meaning.name) == (
        XidKind.APPLICATION,
        "engine is gone",
    )
    assert xid_of("166, NETIR_LINK_EVT Fatal XC0").meaning == own_meanings()["unlisted-fatal"]
    assert xid_of("48, pid=1, DBE").meaning == own_meanings()["48"]


def test_function_of_a_site_is_known_after_ours(site: Path) -> None:
    library([written(site, functions=FUNCTIONS.replace('= "acme_walk', '= "gc_worker|acme_walk', 1))])
    assert [row.name for row in signature_of(["acme_walk_all"]) if row] == ["acme-walk"]
    assert [row.name for row in signature_of(["gc_worker"]) if row] == ["conntrack"]
    assert [row.name for row in signature_of(["osq_lock", "acme_walk"]) if row] == ["lock-wait", "acme-walk"]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("units", UNITS.replace("[acme]", "[agents]"), "units.toml:1: the agents are ours alone"),
        ("units", UNITS.replace('"essential"', '"network"'), 'units.toml:2: a unit of a site cannot be "network"'),
        ("units", UNITS.replace('"acme-*"', '"*"'), 'units.toml:3: "*" is no name of units'),
        ("xid", XID.replace("[166]", "[48]"), "xid.toml:1: 48 is ours, and none of ours is replaced"),
        ("xid", XID.replace("[166]", "[x1]"), 'xid.toml:1: "x1" is no code of an Xid'),
        ("xid", XID.replace('"fault"', '"fatal"'), 'xid.toml:2: kind is "fatal"'),
        (
            "functions",
            FUNCTIONS.replace("[acme-walk]", "[reclaim]"),
            'functions.toml:1: a row of ours is called "reclaim"',
        ),
        ("functions", FUNCTIONS.replace('"acme_walk\\\\w*"', "'(?<=a)b'"), "functions.toml:2: functions is not an RE2"),
        ("functions", FUNCTIONS.replace("acme_walk_all", "acme"), 'functions.toml:4: functions do not find "acme"'),
        ("functions", FUNCTIONS.replace("my_acme_walk", "acme_walks"), 'functions.toml:5: functions find "acme_walks"'),
        ("secrets", SECRETS.replace("[acme-key]", "[aws-key]"), 'secrets.toml:1: a row of ours is called "aws-key"'),
        (
            "secrets",
            SECRETS.replace("form = 'acme:(?P<secret>[a-z0-9]{6,40})'", "form = '(?<=a)b'"),
            "secrets.toml:2: form is not an RE2 expression",
        ),
        ("secrets", SECRETS.replace("«fake01»", "«-»"), 'secrets.toml:5: form does not find "acme:«-»"'),
        ("secrets", SECRETS.replace("«fake01»", "fake01"), "secrets.toml:5: write the secret"),
        ("secrets", SECRETS.replace("[a-z0-9]{6,40}", ".{6}"), "secrets.toml:5: form finds something again"),
        (
            "secrets",
            SECRETS.replace("acme:(?P<secret>[a-z0-9]{6,40})", "Acme key"),
            "secrets.toml:2: form is found in an empty text or",
        ),
        ("secrets", SECRETS.replace('"Acme key"', '"]x <!channel>"'), "secrets.toml:4: says should be a few words"),
        ("secrets", '\nacme={form="acme:x",has=["acme:"],seen=["acme:«y»"]}', "secrets.toml:2: form does not find"),
        ("secrets", SECRETS.replace('["acme: none"]', '["acme:fake02"]'), 'secrets.toml:6: form finds "acme:fake02"'),
        ("secrets", SECRETS.replace('["acme:"]', '"acme:"'), "secrets.toml:3: has should be a list of texts"),
        ("kernel_log", KERNEL.replace("[acme.engine]", "[disk.engine]"), 'kernel-log.toml:1: the ring "disk" is ours'),
        ("kernel_log", KERNEL.replace("from = ", "form = "), 'kernel-log.toml:4: unknown column "form"'),
        (
            "kernel_log",
            KERNEL.replace("lines = ['acme", "lines = ['(?<=a)acme"),
            "kernel-log.toml:2: lines is not an RE2 expression",
        ),
        ("kernel_log", KERNEL.replace("(?P<device>", "(?P<core>"), "another group than device or process"),
        ("kernel_log", KERNEL.replace("has = [", 'has = ["e*o", '), 'kernel-log.toml:3: "e*o" is no literal'),
        (
            "kernel_log",
            KERNEL.replace('"our own driver"\n', '"our own driver"\nkind = "mounted"\n'),
            'kernel-log.toml:5: no row of a site tells "mounted"',
        ),
        (
            "kernel_log",
            KERNEL.replace("«device=0000:3b:00.0»", "0000:3b:00.0"),
            "kernel-log.toml:5: lines and has do not find",
        ),
        ("kernel_log", KERNEL.replace("engine ready", "engine gone"), "kernel-log.toml:6: lines find"),
        (
            "kernel_log",
            KERNEL.replace('has = ["', 'has = ["' + "x" * 8000 + '", "'),
            "kernel-log.toml: has more than 8,000 characters of literals",
        ),
    ],
)
def test_fault_is_told_with_its_line(site: Path, name: str, text: str, says: str) -> None:
    with pytest.raises(PlaybookError) as refused:
        library([written(site, **{name: text})], strict=name != "secrets")  # of a secret each fault is one
    assert any(says in line for line in str(refused.value).splitlines()), str(refused.value)
    held = [("*", frozenset({"protected", "left-out"}))]  # what a row would protect is not known: no unit is stopped
    assert [*chain(*_ADDED)] == (held if name == "units" else [])


def test_each_row_of_ours_says_what_it_needs() -> None:
    assert all(meaning.name and meaning.action for meaning in own_meanings().values())
    assert all(name.isdigit() or name in _NAMED for name in own_meanings())
    assert {"is", "names"} == {key for name, row in protected.own_units().items() if name != "agents" for key in row}
    words = {"network", "guest", "kubelet", "packaged-kubelet", "never-started", *protected.OF_SITES}
    words |= {"asked-runtime", "asked-network", "serves-kubelets", "keeps-time", "eviction-at-5-percent"}
    assert {word for row in protected.own_units().values() for word in row.get("is", ())} == words


_NAMED = ("unified-memory", "unlisted", "unlisted-fatal", "switch-fatal", "switch")


def test_rows_of_functions_keep_their_seen_and_never() -> None:
    rows = builtin_rows("functions")
    for name, row in rows.items():
        assert row["seen"], name
        assert row["from"], name
        found = {each: [known.name for known in signature_of([each]) if known] for each in row["seen"]}
        assert found == {each: [name] for each in row["seen"]}
        assert all(name not in [known.name for known in signature_of([each]) if known] for each in row.get("never", ()))
    assert {ours.name for ours in own_signatures()} == rows.keys()


# --- secrets


def test_site_adds_a_form_and_ours_stay(site: Path) -> None:
    assert redacted_text("x acme:fake01 y") == "x acme:fake01 y"
    library([written(site, secrets=SECRETS)])
    assert redacted_text("x acme:fake01 y password=hunter2") == "x acme:[redacted: Acme key] y password=[redacted]"
    library([site])  # twice is once
    assert redacted_text(redacted_text("acme:fake01")) == "acme:[redacted: Acme key]"


def test_form_that_a_site_adds_is_cut_out_of_every_later_entry(site: Path) -> None:
    def reason() -> object:
        pulled = BrakePulled("x acme:fake01 y")
        return chained_entry(HOUSE, Head(), "2026-11-21T10:00:00.000Z", pulled, "bot").body["reason"]

    assert reason() == "x acme:fake01 y"
    library([written(site, secrets=SECRETS)])
    assert reason() == "x acme:[redacted: Acme key] y"


def test_folder_without_a_table_adds_nothing(tmp_path: Path) -> None:
    before = len(secret_forms.table().forms)
    library([tmp_path])
    assert len(secret_forms.table().forms) == before


def test_group_that_takes_no_part_or_is_empty_cuts_nothing(site: Path) -> None:
    row = SECRETS.replace("acme:(?P<secret>[a-z0-9]{6,40})", "acme:(?:none|(?P<secret>[a-z0-9]*))")
    library([written(site, secrets=row.replace('never = ["acme: none"]', 'never = ["acme:none", "acme:"]'))])
    assert redacted_text("acme:none acme: acme:fake01") == "acme:none acme: acme:[redacted: Acme key]"


def test_lone_surrogate_is_read_and_what_stands_beside_it_is_found(site: Path) -> None:
    library([written(site, secrets=SECRETS)])
    assert redacted_text("\ud800 é 𝒳 acme:fake01") == "\ud800 é 𝒳 acme:[redacted: Acme key]"


# --- lines of the kernel log


def reading(*folders: Path, log: list[str]) -> KernelLogReading:
    """What a node with this log answers to the probe of these folders' playbooks."""
    probe = next(probe for probe in library(folders).get("node-health").probes if probe.name == "kernel_log")
    program = probe.commands[0].argv[-1]
    text = "".join(f"[{at:12.6f}] node kernel: {says}\n" for at, says in enumerate(log, start=1000))
    argv = ["awk", "-v", "o=journal", program]
    done = subprocess.run(argv, input=f"{text}-- whole --\n", capture_output=True, text=True, timeout=30, check=True)
    return parse(once("log", done.stdout))


def test_site_adds_a_kind_and_ours_stay(site: Path) -> None:
    assert reading(log=LOG).kinds == ("conntrack-full",)
    ours, ended = reading(written(site, kernel_log=KERNEL), log=LOG), reading(site, log=LOG)  # twice is once
    assert [(event.kind, event.device) for event in ours.events] == [("acme", "0000:3b:00.0"), ("conntrack-full", "")]
    assert ours.events == ended.events
    assert ours.of("acme")[0].text.endswith("engine gone")


def test_line_that_ours_know_is_told_by_both(site: Path) -> None:
    row = """[acme.full]
lines = ['nf_conntrack: table']
has = ["nf_conntrack"]
seen = ["nf_conntrack: table full"]
"""
    told = reading(written(site, kernel_log=row), log=LOG)
    assert {event.kind for event in told.events if "table full" in event.text} == {"conntrack-full", "acme"}


def test_storm_of_a_sites_lines_pushes_none_of_ours_out(site: Path) -> None:
    storm = [LOG[1], *[LOG[0]] * 500]
    assert "conntrack-full" in reading(written(site, kernel_log=KERNEL), log=storm).kinds


def test_sites_line_explains_no_error_of_ours(site: Path) -> None:
    """An error beside a known fault belongs to it; beside a site's line it stays an error."""
    library([written(site, kernel_log=KERNEL)])
    lines = [f"<3>[{1000 + n:12.6f}] node kernel: {says}" for n, says in enumerate([LOG[0], "zyx: not served"])]
    events = parse(once("log", "\n".join([*lines, "-- journal: 2 lines, 0 left out --"]))).events
    assert [event.kind for event in events] == ["error", "acme", "error"]
