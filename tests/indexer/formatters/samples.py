"""A ranking, malicious text, and how a view is printed."""

import io

from rich.console import Console, RenderableType

from moverank.rerank.ranking import Flow, Hit, Ranking, StageCounts

FLOWS = (Flow("cat", "dog", 0.5, 2.0, 0.8), Flow("cat", "bird", 0.25, 1.0, 0.2), Flow("red", "red", 0.25, 0.0, 0.0))
HIT = Hit("key/1", 1.25, "Title", "pets", "a dog and a bird", FLOWS)
COUNTS = StageCounts(candidates=1200, rwmd=1190, dual=5, sinkhorn=2, solved=3)
RANKING = Ranking((HIT,), certified=True, scope="collection", counts=COUNTS)
MALICIOUS = "red \x1b[31m\r\nline\u202e[bold]x[/y]"


def printed(view: RenderableType, width: int = 200) -> str:
    """Return what a terminal of `width` columns without colours shows."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(view)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()
