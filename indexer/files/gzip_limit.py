"""When unzipping has to stop: few bytes that become very many are no text and no word vectors."""

BLOWN_UP, RATIO = 1 << 30, 200
"""Beyond a GiB, what is unzipped may be 200 times as long as the file was."""


def blown_up(made: int, zipped: int) -> bool:
    """Say whether so many bytes are too many to be `made` of so many `zipped` ones."""
    return made > max(BLOWN_UP, RATIO * zipped)
