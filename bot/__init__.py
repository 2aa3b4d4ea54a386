"""A bot that looks at a sick Linux node over SSH and gives one verdict."""
