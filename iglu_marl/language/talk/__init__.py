"""Dialogue: what a builder keeps of it, and the repair of incomplete requests."""
