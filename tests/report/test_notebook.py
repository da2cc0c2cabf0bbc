"""Explanations and datasets in notebooks: every character arrives, and none is obeyed."""

import pytest
from page_reader import Page
from sample_explanations import explanation
from sample_records import EMOJI, NASTY

from unirex.data.example import DatasetInfo, Example, Splits

READABLE = NASTY.replace("\0", "").replace("\r", "")  # HTML has neither
VIEWS = {
    "explanation": explanation(
        f"{READABLE} {EMOJI}",
        scores=[0.2, 0.9, -1.0],
        label="<b>",
        probabilities={"<b>": 0.9, "x": 0.1},
        gold=["so"],
        gold_label="x",
        truncated=3,
    ),
    "splits": Splits(
        DatasetInfo("<i>", ("<b>", "x")),
        {"train": [Example("<u>", (f"{READABLE} {EMOJI}",), "<b>", (((0, 9),),))], "dev": []},
    ),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_harmless_and_styles_only_itself(name):
    page = Page(VIEWS[name]._repr_html_())
    assert page.harmless and "style" not in {tag for tag, _, _ in page.elements}
    assert not any({"class", "id"} & set(attributes) for _, attributes, _ in page.elements)
    assert f"{READABLE} {EMOJI}" in "".join(page.elements[0][2])


def test_an_explanation_shows_label_rationale_and_doubts():
    page = Page(VIEWS["explanation"]._repr_html_())
    text = "".join(page.elements[0][2])
    for said in (
        "90.0 %",
        "✗ wrong, gold label x",
        "dots above: the gold rationale",
        "3 tokens were not read",
    ):
        assert said in text
    looks = {"".join(texts): attributes["style"] for tag, attributes, texts in page.elements if tag == "span"}
    underlined = [text for text, look in looks.items() if "underline 2px" in look]
    assert underlined == [word.text for word in VIEWS["explanation"].words if word.selected]
    assert [text for text, look in looks.items() if "dotted" in look] == ["so"]


def test_a_repr_is_one_short_line_however_long_the_text():
    long = explanation("word\n" * 10_000, scores=[1.0] * 10_000)
    data = Splits(DatasetInfo("many", tuple(range(500))), {"train": [Example("a", ("text",), 1)] * 1000})
    assert repr(long).startswith("<Explanation 'pos' (93.1 %) by 'word', 'word'")
    assert repr(data).startswith("<Splits of many: train 1000; labels 0, 1, 2")
    assert all(len(shown) < 250 and "\n" not in shown for shown in (repr(long), repr(data)))


def test_the_figure_of_an_explanation_has_a_bar_for_each_word_of_the_text():
    short, long = explanation("a $witty$ film", scores=[0, 1, -1]), explanation("word " * 300)
    figure = short.plot()
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["a", "$witty$", "film"]
    assert [bar.get_width() for bar in figure.axes[0].patches] == [0, 1, -1]
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert "260 words with lower scores" in long.plot().axes[0].get_xlabel()
