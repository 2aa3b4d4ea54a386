"""A bot that looks at a sick Linux node over SSH and gives one verdict."""

__version__ = "0.2.0.dev0"
