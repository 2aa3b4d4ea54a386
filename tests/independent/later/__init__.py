"""Machines labelled together with a cause that came later: they hold it, and say nothing of how right it was at first.

Whoever wrote the cause wrote these, from the drivers' and the kernel's sources; they are counted apart.
"""
