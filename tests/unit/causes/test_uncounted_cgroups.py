"""What cannot be told apart is not few: cgroups that live in such numbers that the dying were not counted."""

from __future__ import annotations

from tests.unit.causes.builders import cgroups, undecided


def test_uncounted_dying_cgroups_are_undecided_and_never_ruled_out() -> None:
    open_question = undecided("leaked-memory-cgroups", cgroups(dying=0, alive=10_000, dying_is_known=False))
    assert not open_question.suspected, "nothing else on a healthy node points at them"
    assert "at least 10,000 are alive" in open_question.because
