"""Where alerts come from: each source proves where a request comes from, and reads what it says. They touch nothing."""
