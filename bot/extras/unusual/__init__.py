"""What is unusual about a node beside its peers: three facts at most, for people; it never judges."""

from __future__ import annotations

from bot.extras.unusual.settings import UnusualSettings
from bot.seats import Extra

EXTRA = Extra(
    "unusual",
    "what is unusual about a node beside its peers",
    needs=("fleet",),
    settings={"unusual": UnusualSettings},
    reads_more="bot.extras.unusual.peer_comparer:reads_more",
    keeps_facts="bot.extras.unusual.peer_comparer:reads_more",
    reads_more_alone="bot.extras.unusual.peer_comparer:of_record",
)
