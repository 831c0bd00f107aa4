"""Builders who fly: moving, turning and act_action in one step."""
