"""From a node's name to a recorded verdict and a plan that can be approved: read, evaluate, record, propose."""
