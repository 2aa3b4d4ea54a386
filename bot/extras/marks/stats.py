"""How often each cause's verdicts were right, as people marked them: for a terminal and for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.domain.entry import instant_text
from bot.domain.safe_text import one_line
from bot.extras.marks.marks import Score
from bot.surfaces.verdict_text import table_lines, wrapped

SCHEMA_VERSION = 1
_UNCOUNTED = "Not counted: {} by logins that [policy] terminal_approvers does not name."
_TITLES = ("CAUSE", "RIGHT", "WRONG", "PRECISION", "LOOKED AT (UTC)")


def stats_body(scores: Sequence[Score], uncounted: int = 0) -> dict[str, Any]:
    """Return the scores as JSON values; `right` and `wrong` count since a person last looked at the cause.

    Shape: `uncounted` is how many marks on record do not count.
    """
    causes = [
        {
            "cause": one_line(score.cause, 120),
            "right": score.right,
            "wrong": score.wrong,
            "precision": score.precision,
            "in_doubt": score.in_doubt,
            "looked_at": instant_text(score.looked_at) if score.looked_at is not None else None,
            "ever": {"right": score.ever_right, "wrong": score.ever_wrong},
        }
        for score in scores
    ]
    return {"schema": SCHEMA_VERSION, "causes": causes, "uncounted": uncounted}


def stats_text(scores: Sequence[Score], uncounted: int = 0, width: int = 80) -> str:
    """Return the scores as a table, a sentence for each cause that is in doubt, and another on what does not count.

    Example:
    >>> print(stats_text([Score("io-stall", right=9, wrong=1)]), end="")
    CAUSE     RIGHT  WRONG  PRECISION  LOOKED AT (UTC)
    io-stall  9      1      90 %
    """
    left_out = [_UNCOUNTED.format(uncounted)] if uncounted else []
    if not scores:
        nobody = "Nobody has marked a verdict yet: zombie mark ID right|wrong, or the buttons of a closed card."
        return "".join(f"{line}\n" for line in left_out or [nobody])
    lines = table_lines([_TITLES, *map(_row, scores)])
    for score in scores:
        if score.in_doubt:
            lines += ["", *wrapped(one_line(score.doubt, 400), width, "")]
    lines += ["", *left_out] if left_out else []
    return "".join(f"{line}\n" for line in lines)


def _row(score: Score) -> Sequence[str]:
    share = "-" if score.precision is None else f"{100 * score.precision:.0f} %"
    looked = f"{score.looked_at:%Y-%m-%d %H:%M}" if score.looked_at is not None else ""
    return one_line(score.cause, 60), str(score.right), str(score.wrong), share, looked
