"""Robustness drivers: programs that try to break the package. `python -m benchmarks.trust` runs them all.

A driver is a module with `QUICK` and `FULL`, two amounts of work, and `drive(amount, seed)`, which returns figures by
name, or raises `Broken`. Drivers are independent of the tests; docs/reliability.md has their findings.
"""
