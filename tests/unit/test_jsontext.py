from __future__ import annotations

import json
import sys
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tidemill import jsontext

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
storable = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
)


@given(storable)
def test_what_can_be_stored_comes_back_as_it_was(value: Any) -> None:
    assert jsontext.loads(jsontext.dumps(value)) == value


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}', "1e400", "-1e999", "[1.5e309]"])
def test_numbers_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        jsontext.loads(text)


def test_a_whole_number_of_any_usual_size_survives() -> None:
    text = "9007199254740993"
    assert jsontext.dumps(jsontext.loads(text)) == text


def test_a_number_too_long_for_python_is_a_value_error() -> None:
    with pytest.raises(ValueError):
        jsontext.loads("1" * 5000)


def test_of_a_repeated_name_the_last_one_counts() -> None:
    assert jsontext.loads('{"a": 1, "a": 2}') == {"a": 2}


@pytest.mark.parametrize("text", ["", " ", "{", "[1,]", "{'a': 1}", "\ufeff{}", "nul", "\uff11"])
def test_what_is_no_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        jsontext.loads(text)


@pytest.mark.parametrize("pair", ["[]", "{}"])
@pytest.mark.parametrize(("levels", "fits"), [(199, True), (200, True), (201, False), (100_000, False)])
def test_two_hundred_levels_are_the_limit(pair: str, levels: int, fits: bool) -> None:
    opening = "[" if pair == "[]" else '{"a":'
    text = opening * levels + "1" + pair[1] * levels
    if fits:
        assert json.dumps(jsontext.loads(text)) == json.dumps(json.loads(text))
    else:
        with pytest.raises(ValueError, match="deeper than 200 levels"):
            jsontext.loads(text)


@pytest.mark.parametrize("inside", ["[" * 300, '\\"' + "[" * 300, "{" * 300 + "\\\\", '\\\\\\"[' * 300])
def test_brackets_inside_strings_are_no_levels(inside: str) -> None:
    assert jsontext.loads(f'["{inside}"]') == json.loads(f'["{inside}"]')


def test_many_brackets_side_by_side_are_no_levels() -> None:
    assert jsontext.loads("[" + "[]," * 500 + "[]]") == [[]] * 501


@pytest.mark.parametrize(
    "text", ['\\"' * 500_000 + "[" * 300, '"' + "x" * 1_000_000 + "[" * 300, '["' + "\\\\" * 500_000 + "[" * 300]
)
def test_a_megabyte_of_quotes_does_not_take_for_ever(text: str) -> None:
    ended = threading.Event()

    def load() -> None:
        with pytest.raises(ValueError):
            jsontext.loads(text)
        ended.set()

    threading.Thread(target=load, daemon=True).start()
    assert ended.wait(10)  # it takes a few milliseconds; in quadratic time it took hours


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def own() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (float("nan"), "JSON compliant"),
        ([float("inf")], "JSON compliant"),
        ("a\x00b", "NUL"),
        ({"\x00": 1}, "NUL"),
        ("\\\x00", "NUL"),
        ("\ud83d", "surrogate"),
        ({"\udc80": 1}, "surrogate"),
        (b"bytes", "bytes"),
        ({1, 2}, "set"),
        ({(1, 2): 3}, "keys"),
        (object(), "object"),
        (deep(201), "200 levels"),
        (deep(100_000), "200 levels"),
        (own(), "Circular|itself"),
        (10 ** (sys.get_int_max_str_digits() + 1), "digits"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_stored_is_a_value_error_that_says_why(value: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        jsontext.dumps(value)


@pytest.mark.parametrize("value", ["\\u0000", "\\\\u0000", "c:\\u0000", "\U0001f600", deep(200)])
def test_what_only_looks_dangerous_is_stored(value: Any) -> None:
    assert json.loads(jsontext.dumps(value)) == value


def test_the_text_is_as_short_as_it_can_be() -> None:
    assert jsontext.dumps({"a": [1, "é"]}) == '{"a":[1,"é"]}'


@pytest.mark.parametrize(
    ("text", "cleaned"), [("a\x00b", "a\ufffdb"), ("\udc80", "\ufffd"), ("\ud83d\ude00", "\ufffd\ufffd"), ("é\n\t", "é\n\t")]
)
def test_clean_replaces_what_is_no_character(text: str, cleaned: str) -> None:
    """B56"""
    assert jsontext.clean(text) == cleaned


@pytest.mark.parametrize(
    ("text", "limit", "cleaned"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abc\u2026"),
        ("éééé", 8, "éééé"),
        ("éééé", 7, "éé\u2026"),
        ("\U0001f600" * 2, 6, "\u2026"),
    ],
)
def test_clean_cuts_bytes_and_no_character(text: str, limit: int, cleaned: str) -> None:
    """B55"""
    assert jsontext.clean(text, limit) == cleaned


@given(st.text(st.characters(), max_size=60), st.integers(min_value=3, max_value=80))
def test_clean_text_can_be_stored_and_fits(text: str, limit: int) -> None:
    """B56"""
    cleaned = jsontext.clean(text, limit)
    assert len(cleaned.encode()) <= limit
    assert "\x00" not in cleaned
    assert cleaned == jsontext.clean(cleaned, limit)


def test_a_huge_text_is_cut_to_four_kilobytes() -> None:
    """B55"""
    cleaned = jsontext.clean("\U0001f600" * 20_000_000)
    assert len(cleaned.encode()) <= 4096
    assert cleaned.startswith("\U0001f600") and cleaned.endswith("\u2026")
