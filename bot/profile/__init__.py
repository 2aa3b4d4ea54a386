"""What was sampled, as pictures and as text: values in, bytes and texts out."""
