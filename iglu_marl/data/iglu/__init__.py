"""The IGLU datasets: single-turn and multi-turn packs, their event streams, and writing them."""
