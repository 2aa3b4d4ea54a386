"""`zombie lab prove` on a real kernel: one row, once."""

from datetime import timedelta

import pytest

from bot.response.proven_cures import read_table
from tests.lab.bench import Bench

pytestmark = [pytest.mark.lab, pytest.mark.slow]


def test_fault_is_proven_written_down_and_not_proven_twice(own: Bench) -> None:
    table = own.folder / "proven.toml"
    words = ("lab", "prove", "--kernel", "6.1", "--cause", "failed-units", "--cgroups", "v2", "--table", str(table))
    done = own.zombie(*words, within=timedelta(minutes=15))
    print(done.stderr)
    assert done.returncode == 0
    (row,) = read_table(table).rows
    assert (row.cause, row.cure, row.series, row.cgroups, row.runs, row.healed) == (
        "failed-units",
        (),
        "6.1",
        "v2",
        1,
        1,
    )
    assert (own.folder / "proven" / row.recording).is_file()
    again = own.zombie(*words)
    assert again.returncode == 0
    assert "stands (1 of 1 healed" in again.stderr
    assert {path.name for path in own.folder.iterdir()} == {table.name, "proven"}, "nothing of the lab is left"
