"""Draws docs/lab-run.svg: how many zombies a real node had, from the leak to the cure.

The data are a real run's: `ZOMBIE_LAB_RUN=$PWD/docs/lab-run.json ./zombie test lab -m founding -k v2` writes them, and
`python -m tests.lab.figure` draws what is written there.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.lab.counter import Count

DOCS = Path(__file__).parents[2] / "docs"
DATA, FIGURE = DOCS / "lab-run.json", DOCS / "lab-run.svg"
MARKS = {"Triaged": "check", "Approved": "approved", "Resolved": "resolved"}
STEPS = ("disabled", "rebooted")

WIDTH, HEIGHT = 860, 380
LEFT, RIGHT, TOP, BOTTOM = 70, 24, 66, 52
INK, QUIET, LINE, FILL = "#1d2330", "#6b7280", "#b42318", "#b4231822"


def recorded(cgroups: str, counted: Sequence[Count], entries: Sequence[dict[str, Any]]) -> str:
    """Return what the node counted and what its record says, as the figure needs it."""
    began = counted[0].at
    boots = list(dict.fromkeys(one.boot_id for one in counted))
    marks = [(MARKS[entry["kind"]], entry["at"]) for entry in entries if entry["kind"] in MARKS]
    marks += zip(STEPS, [entry["at"] for entry in entries if entry["kind"] == "StepVerified"], strict=True)
    data = {
        "node": f"Debian 12 with cgroup {cgroups}, 768 MiB, in QEMU's software emulation; by its own clock",
        "began_at": began.isoformat(),
        "marks": sorted([round((datetime.fromisoformat(at) - began).total_seconds(), 1), name] for name, at in marks),
        "counts": [
            [round((one.at - began).total_seconds(), 1), boots.index(one.boot_id), one.dying] for one in counted
        ],
    }
    return json.dumps(data, separators=(",", ":")) + "\n"


def drawn(data: dict[str, Any]) -> str:
    """Return the figure."""
    counts = data["counts"]
    last = float(max(counts[-1][0], data["marks"][-1][0]))
    most = int(-(-max(many for _, _, many in counts) // 2000) * 2000)

    def x(seconds: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * seconds / last, 1)

    def y(many: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * many / most, 1)

    parts = []
    for many in range(0, most + 1, 2000):
        parts.append(f'<path d="M{LEFT} {y(many)}H{WIDTH - RIGHT}" stroke="#e5e7eb"/>')
        parts.append(_text(LEFT - 8, y(many) + 4, f"{many:,}", "end", QUIET))
    minutes = range(int(last // 60) + 1)
    parts += [_text(x(60 * minute), HEIGHT - BOTTOM + 18, f"{minute} min", "middle", QUIET) for minute in minutes]
    for boot in sorted({boot for _, boot, _ in counts}):
        points = [(x(seconds), y(many)) for seconds, at, many in counts if at == boot]
        path = "L".join(f"{px} {py}" for px, py in points)
        parts.append(f'<path d="M{points[0][0]} {y(0)}L{path}L{points[-1][0]} {y(0)}Z" fill="{FILL}"/>')
        parts.append(f'<path d="M{path}" fill="none" stroke="{LINE}" stroke-width="2" stroke-linejoin="round"/>')
    down = [max(s for s, boot, _ in counts if boot == 0), min(s for s, boot, _ in counts if boot == 1)]
    parts.append(_text((x(down[0]) + x(down[1])) / 2, y(most / 2), "down", "middle", QUIET))
    for number, (seconds, name) in enumerate(data["marks"]):
        top = TOP - 26 + 16 * (number % 2)
        parts.append(f'<path d="M{x(seconds)} {top + 4}V{y(0)}" stroke="{INK}" stroke-dasharray="3 3"/>')
        parts.append(_text(x(seconds), top, name, "middle", INK))
    title = _text(LEFT, 20, "Memory cgroups that are removed and not freed, counted by the node itself", "start", INK)
    foot = _text(LEFT, HEIGHT - 10, data["node"], "start", QUIET)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="system-ui, sans-serif" font-size="13" role="img">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>\n{title}\n' + "\n".join(parts) + f"\n{foot}\n</svg>\n"
    )


def _text(x: float, y: float, words: str, anchor: str, colour: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{colour}">{words}</text>'


if __name__ == "__main__":
    FIGURE.write_text(drawn(json.loads(DATA.read_text(encoding="utf-8"))), encoding="utf-8")
