"""One node, from its name to a verdict on record and a plan that can be approved: read, weigh, record, propose."""
