"""`gridworld` (IGLU 2022): importing it registers `IGLUGridworld-v0` and `IGLUGridworldVector-v0`."""
