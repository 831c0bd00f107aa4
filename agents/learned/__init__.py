"""A small trained builder: from words, world and pose to edits (needs the extra `rl`)."""
