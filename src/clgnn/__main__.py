"""``python -m clgnn`` is ``clgnn``."""

from clgnn.cli import main

if __name__ == "__main__":
    main(prog_name="clgnn")
