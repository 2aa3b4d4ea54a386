"""Profiles from `perf script` text: read in one pass, counted, folded, drawn. Pure: values and bytes out.

`core_picture.py` draws the heat of cores that a check sampled. A profile is read piece by piece, from a file or as it
comes over a connection, plain or gzip:

    reader = Reader(scratch, Selection(core=39))   # scratch opens a temporary file, only where stacks outgrow memory
    reader.feed(piece)                             # any bytes, as often as they come
    profile = reader.finish()                      # ProfileError, a UsageError, says what is wrong with it
    profile.document()                             # the JSON of `zombie profile`
    meaning(profile)                               # what the hottest core's function means, where it is known
    profile.folded()                               # what stackcollapse-perf.pl prints, line by line
"""

from bot.profile.profile import Burner, CoreCount, Profile
from bot.profile.reader import Reader, Sample, TimesFallBack
from bot.profile.selection import Selection
from bot.profile.signatures import ProfileMeaning, meaning

__all__ = [
    "Burner",
    "CoreCount",
    "Profile",
    "ProfileMeaning",
    "Reader",
    "Sample",
    "Selection",
    "TimesFallBack",
    "meaning",
]
