"""What type checkers must accept and refuse: `make types` fails when an ignored error below is none any more."""
