"""What cannot be told apart is not few: cgroups that live in such numbers that the dying were not counted."""

from __future__ import annotations

from tests.unit.causes.builders import cgroups, undecided, unread


def test_uncounted_dying_cgroups_are_undecided_and_never_ruled_out() -> None:
    open_question = undecided("leaked-memory-cgroups", cgroups(dying=0, alive=10_000, dying_is_known=False))
    assert open_question.suspected, "what was not counted is as grave as what was not read"
    assert "at least 10,000 are alive" in open_question.because


def test_many_dying_cgroups_on_a_kernel_of_unknown_age_are_never_healthy() -> None:
    assert undecided("leaked-memory-cgroups", cgroups(10_647), unread("host")).suspected
    assert not undecided("leaked-memory-cgroups", unread("cgroups")).suspected  # must_read makes it unknown
