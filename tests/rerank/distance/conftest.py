from collections.abc import Iterator

import pytest

from moverank.rerank.distance import cascade


@pytest.fixture(params=[0, cascade.FEW_DOCUMENTS], ids=["many", "few"], scope="module")
def few_documents(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run every test on the path for many documents, and on that for few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cascade, "FEW_DOCUMENTS", request.param)
        yield
