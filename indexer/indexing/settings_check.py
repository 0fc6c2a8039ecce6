"""Checks of settings that need FAISS or the options of training."""

from typing import Any

from moverank.indexer.errors import UsageError
from moverank.indexer.settings import Settings, check_settings
from moverank.indexer.snapshot.first_stage import FLAT, check_factory
from moverank.indexer.snapshot.index_choice import AUTO
from moverank.indexer.vectors.training_options import TrainingMethod, training_options

TRAINED = ("auto", "train", "lsi")
"""Values of the setting `embedding` for vectors that are trained on the collection's texts."""


def check_choices(settings: Settings, dim: int | None = None) -> None:
    """Raise UsageError for invalid settings; `dim` is the dimension of the word vectors, None if not known yet."""
    check_settings(settings)
    check_training(settings.embedding, settings.train_options)
    if settings.faiss not in (AUTO, FLAT):
        space = settings.space(0)
        # The word vectors do not determine the dimension of given ones.
        check_factory(settings.faiss, None if space else dim, products=space is not None and space.products)


def check_training(embedding: str, options: tuple[str, ...]) -> None:
    """Raise UsageError for training options that are invalid with this value of `embedding`."""
    if embedding in ("train", "lsi"):
        training_method(embedding, options)
    elif options:
        raise UsageError("options of training need --embedding train or --embedding lsi")


def training_method(embedding: str, options: tuple[str, ...]) -> tuple[TrainingMethod, dict[str, Any]]:
    """Return the training method and its other options; the option `method` chooses skip-gram or cbow."""
    if embedding == "lsi":
        return "lsi", training_options("lsi", options)
    named = [option.partition("=")[2] for option in options if option.startswith("method=")]
    rest = [option for option in options if not option.startswith("method=")]
    for method in ("skip-gram", "cbow"):
        if method == (named or ["skip-gram"])[-1]:
            return method, training_options(method, rest)
    raise UsageError(f"method={named[-1]}: method must be skip-gram or cbow")
