"""Where other programs ask for verdicts, by the Model Context Protocol. Nothing here acts on a node."""
