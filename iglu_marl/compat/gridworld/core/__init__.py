"""`gridworld.core`: see `world`."""
