"""A call of an API as a line: what may be sent is what was approved."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.actions import ACTIONS
from bot.actions.pod import Pod
from bot.domain.cluster_call import Call, is_as_approved, with_remark

CORDON, EVICT = ACTIONS["drain"].commands({"node": "n1", "of_cluster": "prod"}, None)  # type: ignore[arg-type]


def test_line_becomes_verb_path_and_body_and_a_remark_is_not_sent() -> None:
    assert Call.of("GET /api/v1/nodes/n1") == Call("GET", "/api/v1/nodes/n1")
    assert Call.of(with_remark('PATCH /api/v1/nodes/n1 {"a":1}', "only once")) == Call(
        "PATCH", "/api/v1/nodes/n1", '{"a":1}'
    )


@pytest.mark.parametrize(
    "line", ["", "DELETE /api/v1/nodes/n1", "GET api/v1", "GET /a b", "GET /a\nGET /b", "GET /a {}\nx", "PUT /a {}"]
)
def test_what_is_no_call_is_refused_and_nothing_is_ever_deleted(line: str) -> None:
    with pytest.raises(ValueError, match="is not a call"):
        Call.of(line)


def test_eviction_of_any_pod_fits_what_was_approved_and_nothing_else_does() -> None:
    drain = ACTIONS["drain"]
    assert drain.by_calls is not None
    now = {
        "unschedulable": "false",
        "pods": "1",
        "boot_id": "b1",
        "cluster_boot": "b1",
        f"pod {'ray'}/w-0.x": Pod("ray", "w-0.x", "u-1").to_fact,
    }
    first, second = drain.by_calls.calls({"node": "n1"}, {}, now)
    assert (is_as_approved(first, CORDON), is_as_approved(second, EVICT)) == (True, True)
    assert is_as_approved(second.replace('"u-1"', '"8C5A-1"'), EVICT)
    for other in (
        second.replace("/eviction", ""),
        second.replace("/pods/w-0.x", "/pods/w-0.x/../../secrets/x"),
        second.replace("policy/v1", "policy/v2"),
        second.replace('"u-1"', '"u-1","dryRun":["All"]'),
        first.replace("/n1 ", "/n2 "),
        first.replace("true", "null"),
    ):
        assert not is_as_approved(other, CORDON)
        assert not is_as_approved(other, EVICT)


@given(st.text(max_size=80))
def test_no_text_fits_by_chance(text: str) -> None:
    assert is_as_approved(text, CORDON) == (text == CORDON)
    assert not is_as_approved(text, EVICT)
