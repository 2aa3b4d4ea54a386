"""What things are: frozen values and pure functions, standard library only."""
