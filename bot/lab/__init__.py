"""Virtual nodes with a real kernel, and the faults that can be given to them."""
