"""Each row of playbooks/tables/proven.toml would be earned again: what its sick node said is judged by today's code."""

from pathlib import Path

import pytest

from bot.app.cases import judged_with_secrets
from bot.domain.case import without_secrets
from bot.domain.verdict import recorded_verdict
from bot.lab.trial import BY_FAULT
from bot.response.proven_cures import ProvenRow, proven_file, read_table
from bot.transport.case_file import load
from tests.shipped import shipped

RECORDINGS = Path(__file__).parents[1] / "captures" / "proven"
ROWS = [row for row in read_table(proven_file()).rows if row.recording]
FIRST_OF_A_FAULT = {row.fault: row.recording for row in reversed(ROWS)}.values()  # on other systems it says the same
AGAIN = "mend this; or delete the row and its recording, and have it proven again: zombie lab prove --cause"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.recording.partition(".")[0])
async def test_sick_node_of_a_row_gets_its_verdict_and_the_same_commands(row: ProvenRow) -> None:
    case = load(RECORDINGS / row.recording)
    verdict = await judged_with_secrets(case, shipped().get(case.head.playbook))
    judged, then = recorded_verdict(verdict), case.judged
    assert then is not None
    said = f"{verdict.summary} {AGAIN} {row.fault}"
    assert (judged.status, judged.cause, judged.confidence) == (then.status, then.cause, then.confidence), said
    assert judged.plan == then.plan, f"the cure's commands are not those that were carried out: {AGAIN} {row.fault}"
    steps = verdict.plan.steps if verdict.plan is not None else ()
    assert (judged.status, judged.cause) == (row.status, row.cause)
    assert tuple(step.action for step in steps) == row.cure
    assert judged.confidence == BY_FAULT[row.fault].confidence_on(row.suite)
    assert case.head.environment["kernel"] == f"kernel {row.kernel}"
    if row.recording in FIRST_OF_A_FAULT:
        assert [run for run in case.runs if without_secrets(run) != run] == [], "it holds no secret that is known"


def test_every_row_has_its_recording_and_there_is_no_other() -> None:
    assert {path.name for path in RECORDINGS.iterdir()} == {row.recording for row in ROWS}
