"""What people see of incidents: worded here once, and drawn by each surface in its own way."""
