"""Meaning of requests: typed values, and the worlds that they lead to."""
