"""The composition root: the only room that imports all others and reads environment, clock and randomness."""
