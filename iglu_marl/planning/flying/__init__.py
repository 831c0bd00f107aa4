"""Builders who fly: moving, turning and acting in one step."""
