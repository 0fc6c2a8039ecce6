"""Arrays of numbers in files, as `numpy.save` writes them."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import ReadError


def read_array(path: str) -> NDArray[Any]:
    """Map the array of numbers in a .npy file into memory; pickled objects are never loaded.

    Raises ReadError, which names the file, if it cannot be read or holds anything else.
    """
    try:
        found: Any = np.load(Path(path), mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise ReadError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, EOFError) as error:  # pickles, texts and files that are cut short
        raise ReadError(f"{path}: is no .npy file of numbers, as numpy.save writes them") from error
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiu":
        raise ReadError(f"{path}: must hold one array of numbers: write a float32 matrix with numpy.save")
    return found
