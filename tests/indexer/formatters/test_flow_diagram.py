"""The diagram of flows: bands are as wide as their mass, and fill the bars of their words."""

import itertools
import re

import numpy as np
import pytest

from moverank.indexer.formatters.flow_diagram import STAYS, STEPS, Band, cost_step, flow_diagram
from moverank.rerank.ranking import Flow


def random_flows(seed: int, rows: int, columns: int) -> list[Flow]:
    rng = np.random.default_rng(seed)
    mass = rng.random((rows, columns)) * (rng.random((rows, columns)) < 0.5)
    mass[0, 0] = 1.0
    mass /= mass.sum()
    return [
        Flow(f"s{i}", f"t{j}", float(mass[i, j]), float(rng.random() * 2), 0.0) for i, j in np.argwhere(mass).tolist()
    ]


def edges(band: Band) -> tuple[float, float, float, float]:
    """Return top and bottom of a band at the left, then at the right."""
    start, end, bottom_right, bottom_left = re.fullmatch(
        r"M0 ([\d.]+)C50 [\d.]+ 50 [\d.]+ 100 ([\d.]+)V([\d.]+)C50 [\d.]+ 50 [\d.]+ 0 ([\d.]+)Z", band.path
    ).groups()  # type: ignore[union-attr]
    return float(start), float(bottom_left), float(end), float(bottom_right)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 5), (12, 2), (30, 40)])
@pytest.mark.parametrize("seed", range(3))
def test_bands_are_as_wide_as_their_mass_and_fill_the_bars(seed: int, rows: int, columns: int) -> None:
    diagram = flow_diagram(random_flows(seed, rows, columns))
    assert len(diagram.sources) <= 16
    assert len(diagram.targets) <= 16
    assert 0 < diagram.mass <= 1 + 1e-9
    scale = 340 / diagram.mass
    for band in diagram.bands:
        top, bottom, right_top, right_bottom = edges(band)
        assert bottom - top == pytest.approx(max(0.75, band.flow.mass * scale), abs=0.11)
        assert right_bottom - right_top == pytest.approx(bottom - top, abs=0.11)
        assert band.flow.source == diagram.sources[band.source].text
        assert band.flow.target == diagram.targets[band.target].text
    for side, words, index in ((0, diagram.sources, "source"), (2, diagram.targets, "target")):
        for number, word in enumerate(words):
            mine = sorted(edges(band)[side] for band in diagram.bands if getattr(band, index) == number)
            assert mine[0] == pytest.approx(word.top, abs=0.06)
            total = sum(band.flow.mass for band in diagram.bands if getattr(band, index) == number)
            assert word.height == pytest.approx(total * scale)
            assert word.mass == pytest.approx(total)
        assert all(low.top + low.height <= high.top + 1e-6 for low, high in itertools.pairwise(words))
        assert all(max(word.middle + 10, word.top + word.height) <= diagram.height for word in words)
        assert all(min(word.middle - 10, word.top) >= 0 for word in words)


def test_the_flows_of_most_mass_at_least_cost_are_shown() -> None:
    flows = [Flow(f"s{i}", f"t{i}", 0.05, 0.1 * i, 0.0) for i in range(20)]
    diagram = flow_diagram(flows)
    assert {band.flow.source for band in diagram.bands} == {f"s{i}" for i in range(16)}
    assert diagram.mass == pytest.approx(0.8)


def test_steps_are_shares_of_a_typical_cost_or_quarters_of_the_largest() -> None:
    assert [cost_step(cost, (0.5, 1.0, 1.5)) for cost in (0.0, 0.01, 0.49, 0.5, 1.0, 1.6, 2.0)] == [
        STAYS,
        1,
        1,
        2,
        3,
        4,
        4,
    ]
    legend = flow_diagram([Flow("a", "b", 1.0, 2.0, 1.0)]).legend
    assert [name for name, _ in legend] == list(STEPS)
    assert [costs for _, costs in legend[1:]] == ["0.00 to 0.50", "0.50 to 1.00", "1.00 to 1.50", "1.50 to 2.00"]
    near = flow_diagram([Flow("a", "b", 1.0, 0.5, 1.0)], typical=1.0)
    assert [band.step for band in near.bands] == [1]
    assert [costs for _, costs in near.legend[1:]] == ["0.00 to 0.60", "0.60 to 0.72", "0.72 to 0.90", "0.90 or more"]
    assert len(flow_diagram([Flow("a", "a", 1.0, 0.0, 0.0)]).legend) == 1


def test_no_flows_make_an_empty_diagram() -> None:
    diagram = flow_diagram([])
    assert (diagram.bands, diagram.mass) == ((), 0.0)
