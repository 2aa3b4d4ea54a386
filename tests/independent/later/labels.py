"""All labels of later causes, one line a cause."""

from __future__ import annotations

from tests.independent.label import Label
from tests.independent.later import links

LATER: tuple[Label, ...] = (*links.BONDS,)
