"""Who may decide what: guards, the approver policy at work, the second look at the node, undo and the brake."""
