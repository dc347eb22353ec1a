"""What a parameter does to the objective: on average, and to the best that can be reached."""
