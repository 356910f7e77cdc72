"""`python -m cassbook.cli` is `cassbook`, for an environment that is not on the path."""

from cassbook.cli.main import main

if __name__ == "__main__":
    main()
