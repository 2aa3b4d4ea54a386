"""conntrack: a table that is not there is an answer, one that cannot be read is not."""

import pytest

from bot.domain.command import Outputs
from bot.domain.errors import CannotRead
from bot.probes.conntrack import ConntrackReading, parse
from tests.readings.recorded import run

FOLDER = "/proc/sys/net/netfilter/nf_conntrack_"
THERE = "==> /proc/sys/net/core/somaxconn <==\n4096\n"
FULL = f"{THERE}\n==> {FOLDER}count <==\n258000\n\n==> {FOLDER}max <==\n262144\n"
NO_SUCH = "No such file or directory"


def read(text: str, stderr: str = "") -> ConntrackReading:
    return parse(Outputs(run("conntrack", text, stderr=stderr, exit_status=1 if stderr else 0)))


@pytest.mark.parametrize("tail", ["tail: cannot open '{}' for reading: {}", "tail: can't open '{}': {}"])
def test_a_kernel_that_tracks_nothing_says_so(tail: str) -> None:
    said = "\n".join(tail.format(FOLDER + name, NO_SUCH) for name in ("count", "max"))
    assert read(THERE, said) == ConntrackReading(loaded=False)


def test_without_a_limit_the_table_is_never_full() -> None:
    assert read(FULL.replace("262144", "0")).used_percent == 0


@pytest.mark.parametrize(
    ("text", "stderr", "because"),
    [
        (THERE, f"tail: {FOLDER}count: Permission denied\ntail: {FOLDER}max: Permission denied", "Permission denied"),
        (THERE, f"tail: {FOLDER}count: {NO_SUCH}\ntail: {FOLDER}max: Permission denied", "could not be read"),
        (THERE, "", "no reason given"),
        ("==> /proc/other <==\n1\n", f"tail: {FOLDER}count: {NO_SUCH}\ntail: {FOLDER}max: {NO_SUCH}", "could not be"),
        (FULL.replace("258000", ""), "", "count does not hold a number"),
        (FULL.replace("258000", "-1"), "", "count does not hold a number"),
        (FULL.replace("262144", "262144\n7"), "", "max does not hold a number"),
        (FULL.split(f"==> {FOLDER}max")[0], "", "max does not hold a number"),
    ],
)
def test_what_cannot_be_right_is_refused_with_its_reason(text: str, stderr: str, because: str) -> None:
    with pytest.raises(CannotRead, match=because):
        read(text, stderr)
