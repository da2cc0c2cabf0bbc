"""Words and sentences of any script."""

import pytest

from unirex.data.segmentation import sentences, text_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It isn't dull, 3.5 of 5.", "It|isn't|dull|,|3.5|of|5|."),
        ("你是一个白痴", "你|是|一|个|白|痴"),
        ("日本語テスト です", "日|本|語|テスト|で|す"),
        ("ง่าย", "ง่|า|ย"),
        ("좋은 영화!", "좋은|영화|!"),
        ("👩‍🚀 e\u0301te\u0301", "👩‍🚀|e\u0301te\u0301"),
        (" \t", ""),
    ],
)
def test_words_are_those_of_unicode(text, expected):
    assert "|".join(text[start:end] for start, end in text_words(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! (Three?) four", "One.|Two!|(Three?)|four"),
        ("Mr. J. Smith paid 3.5 at x.org/?a=b!c today", "Mr. J. Smith paid 3.5 at x.org/?a=b!c today"),
        ("it is thin . it never adds up .", "it is thin .|it never adds up ."),
        ("Title\n\nwe wait... and wait", "Title|we wait... and wait"),
        ("你好。你是白痴！真的", "你好。|你是白痴！|真的"),
        ("यह अच्छा है। वह नहीं।", "यह अच्छा है।|वह नहीं।"),
        ("!" * 5000, "!" * 5000),
    ],
)
def test_sentences_end_at_lines_and_terminals(text, expected):
    assert "|".join(text[start:end] for start, end in sentences(text)) == expected
