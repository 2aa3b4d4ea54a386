"""Who may decide what: guards, approvals, the second look at the node, undo and the brake."""
