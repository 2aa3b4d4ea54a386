"""Where verdicts are shown: pure functions of what happened."""
