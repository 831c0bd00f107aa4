"""Trained builders and pairs (training and edit models need the extra `rl`)."""
