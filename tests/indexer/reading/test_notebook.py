import json
from typing import Any

import pytest

from moverank.indexer.values.documents import Document, Part
from tests.indexer.reading.conftest import Read, Write

CELLS: list[Any] = [
    {"cell_type": "markdown", "metadata": {}, "source": ["# Hot plugs\n", "They melt."]},
    {"cell_type": "raw", "source": "raw"},
    {
        "cell_type": "code",
        "source": "import plug\nplug.heat()",
        "outputs": [{"data": {"text/plain": ["output"], "image/png": "iVBOR"}}],
    },
    {"cell_type": "code", "source": []},
]
TEXT = "Hot plugs\nThey melt.\n\nimport plug\nplug.heat()"


def test_a_notebook_is_its_sources(write: Write, documents: Read) -> None:
    notebook = {"cells": CELLS, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4}
    for indent in (None, 1):
        found, rejected = documents(write("d/a.ipynb", json.dumps(notebook, indent=indent)))
        assert rejected == []
        assert found == [Document("d/a.ipynb", "Hot plugs", (Part(TEXT),), metadata={"language": "python"})]


def test_version_3_and_titles(write: Write, documents: Read) -> None:
    cells = [CELLS[0], {"cell_type": "code", "input": CELLS[2]["source"], "language": "python"}]
    notebook = {"worksheets": [{"cells": cells[:1]}, {"cells": cells[1:]}], "metadata": {"title": "Plugs"}}
    assert documents(write("a.ipynb", json.dumps(notebook)))[0] == [Document("a.ipynb", "Plugs", (Part(TEXT),))]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{}", "it has no list of 'cells', so it is no notebook"),
        ("[1]", "it has no list of 'cells'"),
        ('{"worksheets": [1, {"cells": 5}]}', "it has no list of 'cells'"),
        ('{"cells": [1, {"source": 5}, {"source": [null, {}]}]}', "there is no text"),
        ('{\n"cells": [', "broken JSON in line 2: Expecting value"),
        ('{"cells": ' + "[" * 100_000, "the JSON is nested too deeply"),
        ('{"cells": NaN}', "NaN is not JSON"),
        ("", "broken JSON in line 1"),
    ],
)
def test_malformed_notebooks(write: Write, documents: Read, text: str, reason: str) -> None:
    found, (rejection,) = documents(write("a.ipynb", text))
    assert found == []
    assert rejection.reason.startswith(reason)
