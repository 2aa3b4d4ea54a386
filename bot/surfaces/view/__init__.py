"""What people are shown of incidents, made once, for every surface to draw in its own way."""
