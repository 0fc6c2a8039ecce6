import pytest

from moverank import Document
from moverank.indexer.demo.docstrings import docstring_documents


@pytest.fixture(scope="session")
def docstrings() -> list[Document]:
    documents = list(docstring_documents())
    if not documents:
        pytest.skip("this Python was installed without the sources of its library")
    return documents
