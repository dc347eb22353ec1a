"""What connects workers: how many trials per second each engine runs, and whether anything is lost on the way."""
