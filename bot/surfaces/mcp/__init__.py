"""The Model Context Protocol, by which other programs ask for verdicts. Nothing here acts on a node."""
