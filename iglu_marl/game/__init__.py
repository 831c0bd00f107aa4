"""The game of two: its configuration, what each role sees, and the course of an episode."""
