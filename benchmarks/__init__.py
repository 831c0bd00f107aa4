"""Studies whose figures the pages quote, each a module: `python -m benchmarks.NAME`."""
