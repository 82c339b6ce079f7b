"""The command ``umfi``, also as ``python -m umfi``."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; an interrupt while it is still being loaded is no error."""
    try:
        from umfi.cli import app

        app()
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
