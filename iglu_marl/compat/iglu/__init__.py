"""`iglu` (IGLU 2021): importing it registers `IGLUSilentBuilder-v0` and `IGLUSilentBuilderVisual-v0`."""
