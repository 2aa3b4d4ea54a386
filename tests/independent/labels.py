"""All labels: the first set, the second, and those of causes that came later."""

from __future__ import annotations

from pathlib import Path

from tests.independent.label import Label
from tests.independent.rows import labels

_FOLDER = Path(__file__).parent
# Labelled as the field's own sources have it, before any was judged, by a reader of neither a cause nor a threshold. In
# the second set are other systems, clouds, units and figures, and near misses of every cause.
LABELS: tuple[Label, ...] = (*labels(_FOLDER / "first"), *labels(_FOLDER / "second"))
# Labelled together with a cause that came later, by whoever wrote it, from the drivers' and the kernel's sources:
# they hold it, and say nothing of how right it was at first. They are counted apart.
LATER: tuple[Label, ...] = tuple(labels(_FOLDER / "later"))
