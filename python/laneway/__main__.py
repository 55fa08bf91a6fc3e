"""`python -m laneway`: the command, as `laneway_command` begins it."""

from laneway_command import main

if __name__ == "__main__":
    main()
