"""What a parameter does to the objective on average."""
