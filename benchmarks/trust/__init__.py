"""What the package withstands: drivers that look for what breaks it. `python -m benchmarks.trust` runs them all.

A driver is a module with `QUICK` and `FULL`, two amounts of what it does, and `drive(amount, seed)`, which returns
figures by name, or raises `Broken` where a promise does not hold. They are written independently of the tests of what
they drive; docs/reliability.md has what they found.
"""
