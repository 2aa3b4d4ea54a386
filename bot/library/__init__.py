"""The playbooks: YAML files, checked whole, turned into values that hold no code."""

from bot.library.library import Library

__all__ = ["Library"]
