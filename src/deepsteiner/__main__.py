"""`python -m deepsteiner` is the `deepsteiner` command."""

from .cli import main

if __name__ == "__main__":
    main()
