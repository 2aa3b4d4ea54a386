"""The stories: how a node is read and judged."""
