"""How long a report takes, and how large it is: what the thread of a card, and a terminal, wait for.

A report, run by `./zombie test all`; the bounds are the promises of docs/report.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.app.extras import shipped
from bot.app.factories import library, now
from bot.extras.reports.markdown import markdown
from bot.extras.reports.page import page
from bot.extras.reports.report import whole_report
from bot.extras.reports.report_data import ReportData
from bot.extras.reports.report_maker import report_data
from tests.record.exporting import ended
from tests.record.ledgers import ledger_in

RUNS = 7
MOST_SECONDS, MOST_BYTES = 1.0, 200_000


@pytest.mark.benchmark
def test_report_of_the_founding_incident_is_made_in_a_moment(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    playbooks = library()
    with ledger_in(tmp_path) as database:
        incident = ended(database)
        gathered, drawn = list[float](), list[float]()

        def made() -> tuple[ReportData, str]:
            began = time.perf_counter()
            data = report_data(database, incident, playbooks, now(), extras=shipped().on)
            told = time.perf_counter()
            text = page(whole_report(data))
            gathered.append(told - began)
            drawn.append(time.perf_counter() - told)
            return data, text

        data, text = [made() for _ in range(RUNS)][-1]
    size, document = len(text.encode()), len(markdown(whole_report(data)).encode())
    print(
        f"gathered in {min(gathered) * 1000:.0f} ms ({gathered[0] * 1000:.0f} ms the first time), drawn in "
        f"{min(drawn) * 1000:.1f} ms; page {size / 1000:.0f} kB, Markdown {document / 1000:.0f} kB"
    )
    record_property("gathered_seconds", min(gathered))
    record_property("page_bytes", size)
    assert data.pictures, "its heat map is in it"
    assert min(gathered) + min(drawn) < MOST_SECONDS
    assert size < MOST_BYTES
