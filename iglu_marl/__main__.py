"""`python -m iglu_marl`: the command `iglu-marl`."""

from iglu_marl.cli import main

if __name__ == "__main__":
    main()
