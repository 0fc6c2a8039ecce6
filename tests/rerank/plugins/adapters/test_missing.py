"""An adapter without its host says how to install it, as an error of this package and as an ImportError."""

import subprocess
import sys

import pytest


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
    program = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from moverank.rerank.errors import RerankError\n"
        f"try: import moverank.rerank.plugins.adapters.{adapter}\n"
        "except ImportError as error: print(isinstance(error, RerankError), error)"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed == (
        f"True the adapter for {host} needs a package that is not installed: "
        f"python -m pip install 'moverank[{extra}]'\n"
    )


@pytest.mark.parametrize(
    ("code", "use", "instead"),
    [
        ("import moverank.rerank.plugins.adapters.gensim", "the adapter for gensim", "rank texts with `Reranker`"),
        (
            "from moverank.indexer.vectors.downloading import download; download('gensim:glove', print)",
            "gensim:glove",
            "name a file of word vectors",
        ),
    ],
)
def test_what_needs_gensim_says_what_helps_without_it(code: str, use: str, instead: str) -> None:
    program = (
        "import sys; sys.modules['gensim'] = None\n"
        "from moverank.rerank.errors import RerankError\n"
        f"try: {code}\n"
        "except ImportError as error: print(isinstance(error, RerankError), error)"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed == (
        f"True {use} needs gensim, which has no wheel for Python 3.14: use Python 3.11 to 3.13, or {instead}\n"
    )


def test_a_model_of_the_hub_names_the_pip_line() -> None:
    program = (
        "import sys; sys.modules['huggingface_hub'] = None\n"
        "from moverank.indexer.vectors.downloading import download\n"
        "try: download('hf:tiny', print)\n"
        "except ImportError as error: print(error)"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed == "hf:tiny needs the package huggingface_hub: python -m pip install 'moverank[static]'\n"
