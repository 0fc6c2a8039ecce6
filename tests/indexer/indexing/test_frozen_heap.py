import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from moverank import Collection, Document, Part
from moverank.indexer.indexing.frozen_heap import frozen_heap


class _Cycle:
    def __init__(self) -> None:
        self.own = self


def test_objects_of_the_block_are_collected() -> None:
    with frozen_heap():
        assert gc.get_freeze_count()
        garbage = weakref.ref(_Cycle())
        gc.collect()
        assert garbage() is None
    assert not gc.get_freeze_count()


def test_a_block_of_another_thread_leaves_them_frozen() -> None:
    def other() -> int:
        with frozen_heap():
            garbage = weakref.ref(_Cycle())
            gc.collect()
            assert garbage() is None
        return gc.get_freeze_count()

    with ThreadPoolExecutor(1) as pool, frozen_heap():
        assert pool.submit(other).result()
        assert gc.get_freeze_count()
    assert not gc.get_freeze_count()


def test_an_exception_ends_it() -> None:
    with pytest.raises(KeyError), frozen_heap():
        raise KeyError
    assert not gc.get_freeze_count()


def test_objects_that_the_program_froze_stay_so(collection: Collection) -> None:
    gc.freeze()
    try:
        collection.index([Document("a", parts=(Part("ant"),))])
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()
    collection.index([Document("b", parts=(Part("bee"),))])
    assert not gc.get_freeze_count()
