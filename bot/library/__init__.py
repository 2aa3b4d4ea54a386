"""The playbooks: YAML files, validated as a whole and turned into values without code."""

from bot.library.library import Library

__all__ = ["Library"]
