"""Builders who walk: with gravity, on foot, one key a step."""
