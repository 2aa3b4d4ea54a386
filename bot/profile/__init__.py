"""Profiles from `perf script` text: read in a single pass, counted, folded, drawn. Pure: values and bytes out.

`core_picture.py` draws the heat of cores that a check sampled. A profile is read in pieces, from a file or a
connection, plain or gzip:

    reader = Reader(scratch, Selection(core=39))   # scratch opens a temporary file if stacks outgrow memory
    reader.feed(piece)                             # any bytes, as they arrive
    profile = reader.finish()                      # raises ProfileError, a UsageError, with what is wrong
    profile.document()                             # the JSON of `zombie profile`
    meaning(profile)                               # what the hottest core's function means, if known
    profile.folded()                               # the lines that stackcollapse-perf.pl prints
"""

from bot.profile.profile import Profile, meaning
from bot.profile.reader import Reader, Sample, TimesFallBack
from bot.profile.selection import Selection

__all__ = [
    "Profile",
    "Reader",
    "Sample",
    "Selection",
    "TimesFallBack",
    "meaning",
]
