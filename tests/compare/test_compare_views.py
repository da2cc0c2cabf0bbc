"""Results and comparisons in notebooks: tables, short reprs and figures by name."""

import pytest
from made import LABELS, records

from unirex.comparison import compare
from unirex.errors import UserError
from unirex.evaluation import Results

RESULTS = {
    name: Results(name, LABELS, tuple(records(faithful=faithful)))
    for name, faithful in (("<slm>", 0.6), ("other", 0.2))
}
COMPARISON = compare(RESULTS, draws=50)


@pytest.mark.parametrize("shown", [RESULTS["<slm>"], COMPARISON], ids=["results", "comparison"])
def test_a_table_of_all_headline_numbers_with_everything_escaped(shown):
    html = shown._repr_html_()
    assert "&lt;slm&gt;" in html and "<slm>" not in html and "<script" not in html and "class=" not in html
    assert "Comp ↑" in html and "random scores" in html and "95 %" in html
    assert len(repr(shown)) < 200


@pytest.mark.parametrize("kind", ["trade-off", "curves", "calibration", "classes", "lengths"])
def test_a_comparison_draws_every_kind_of_figure(kind):
    assert COMPARISON.plot(kind).axes


def test_results_draw_what_one_system_can():
    assert len(RESULTS["other"].plot().axes) == 2
    with pytest.raises(UserError, match="figure 'trade-off': needs two methods"):
        RESULTS["other"].plot("trade-off")
    with pytest.raises(UserError, match="did you mean 'curves'"):
        RESULTS["other"].plot("curve")
