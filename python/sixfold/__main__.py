"""The command line: python -m sixfold."""

import os
import sys


def main() -> None:
    """Becomes the program that was installed with the package."""
    program = os.environ.get("SIXFOLD_PROGRAM") or os.path.join(os.path.dirname(__file__), "sixfold")
    try:
        os.execv(program, ["sixfold", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{program}: {error.strerror}; SIXFOLD_PROGRAM can name another program")


if __name__ == "__main__":
    main()
