"""`python -m moverank`: the same as the command `moverank`."""

from moverank.cli import run

if __name__ == "__main__":
    run()
