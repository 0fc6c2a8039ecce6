"""An adapter without its host says how to install it, as an error of this package and as an ImportError."""

import subprocess
import sys

import pytest


def _printed_without(package: str, code: str) -> str:
    """Return what a program prints of the ImportError that code raises where a package is missing."""
    program = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from moverank.rerank.errors import RerankError\n"
        f"try: {code}\n"
        "except ImportError as error: print(isinstance(error, RerankError), error)"
    )
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("adapter", "package", "host", "extra"),
    [
        ("haystack", "haystack", "Haystack", "haystack"),
        ("lancedb", "lancedb", "LanceDB", "lancedb"),
        ("langchain", "langchain_core", "LangChain", "langchain"),
        ("llama_index", "llama_index", "LlamaIndex", "llama-index"),
        ("pyterrier", "pyterrier", "PyTerrier", "pyterrier"),
        ("rerankers", "rerankers", "rerankers", "rerankers"),
        ("scikit_learn", "sklearn", "scikit-learn", "sklearn"),
    ],
)
def test_a_missing_package_names_its_pip_line(adapter: str, package: str, host: str, extra: str) -> None:
    assert _printed_without(package, f"import moverank.rerank.plugins.adapters.{adapter}") == (
        f"True the adapter for {host} needs a package that is not installed: "
        f"python -m pip install 'moverank[{extra}]'\n"
    )


_GENSIM = "needs gensim, which has no wheel for Python 3.14: use Python 3.11 to 3.13, or"


@pytest.mark.parametrize(
    ("package", "code", "message"),
    [
        (
            "gensim",
            "import moverank.rerank.plugins.adapters.gensim",
            f"the adapter for gensim {_GENSIM} rank texts with `Reranker`",
        ),
        ("gensim", "download('gensim:glove', print)", f"gensim:glove {_GENSIM} name a file of word vectors"),
        (
            "huggingface_hub",
            "download('hf:tiny', print)",
            "hf:tiny needs the package huggingface_hub: python -m pip install 'moverank[static]'",
        ),
    ],
)
def test_what_a_missing_package_of_vectors_says(package: str, code: str, message: str) -> None:
    code = code.replace("download", "from moverank.indexer.vectors.downloading import download; download", 1)
    assert _printed_without(package, code) == f"True {message}\n"
