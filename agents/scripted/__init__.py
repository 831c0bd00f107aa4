"""Agents by rule: architects who tell a structure, builders who act on what they read, imperfect partners."""
