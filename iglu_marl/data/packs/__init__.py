"""Packs of data: which there are, where they lie, how they are fetched, opened and cached."""
