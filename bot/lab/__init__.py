"""Virtual nodes with a real kernel, and faults for them."""
