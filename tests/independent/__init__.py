"""Whole nodes labelled by a person who had seen neither a threshold nor a cause's code, only the field's own sources.

Every node is synthetic: a machine at rest in the texts of real recordings, and what a sick machine of its kind prints
in the place of the commands that would show it. The labels were fixed before the first of them was judged; where one
turned out wrong it was mended, and `corrected` beside it says what was wrong with it.
"""
