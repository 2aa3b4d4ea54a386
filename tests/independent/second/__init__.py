"""The second set of machines: other systems, clouds, units and figures, and near misses of every cause.

Labelled as the first was: from the field's own sources and the probes' formats, before any of them was judged, by a
reader of neither a cause nor a threshold.
"""
