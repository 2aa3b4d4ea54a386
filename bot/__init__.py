"""A bot that looks at a sick Linux node over SSH and gives one verdict."""

__version__ = "0.1.0"
