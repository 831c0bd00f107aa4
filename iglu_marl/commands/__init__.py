"""What the commands of `iglu-marl` do; `cli.py` only names them and their options."""
