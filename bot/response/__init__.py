"""What happens to an incident: intake, diagnosis, decision, execution."""
