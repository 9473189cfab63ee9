from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tidemill.telegram_text import LONGEST_TEXT, NO_TEXT, messages


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def split(text: str) -> list[str]:
    return [message["text"] for message in messages(text)]


@pytest.mark.parametrize("text", ["", " ", "\n \t\n", " " * 10_000])
def test_an_empty_text_is_said_to_be_one(text: str) -> None:
    """B87"""
    assert split(text) == [NO_TEXT]


@pytest.mark.parametrize(
    ("text", "sizes"), [("x" * 4096, [4096]), ("x" * 4097, [4096, 1]), ("\U0001f600" * 5000, [4096, 4096, 1808])]
)
def test_the_length_counts_utf16_units(text: str, sizes: list[int]) -> None:
    """B86"""
    assert [units(chunk) for chunk in split(text)] == sizes
    assert "".join(split(text)) == text


def test_an_emoji_on_the_edge_goes_to_the_next_message_whole() -> None:
    """B86"""
    text = "x" * 4095 + "\U0001f600" + "y"
    assert split(text) == ["x" * 4095, "\U0001f600y"]


def test_a_long_text_is_cut_at_line_ends() -> None:
    lines = [f"{number:04}" + "x" * 95 + "\n" for number in range(100)]
    chunks = split("".join(lines))
    assert chunks == ["".join(lines[:40]), "".join(lines[40:80]), "".join(lines[80:])]


def test_a_chunk_of_nothing_but_space_is_left_out() -> None:
    """B86"""
    assert split("a" * 4096 + " " * 5000 + "b") == ["a" * 4096, " " * 904 + "b"]


def test_what_is_no_character_is_replaced() -> None:
    """B86"""
    assert split("a\ud83d\x00b") == ["a\ufffd\ufffdb"]


@given(st.text(alphabet=st.sampled_from("ab \n\U0001f600\u00e9\ud800"), max_size=40).map(lambda text: text * 400))
def test_chunks_keep_all_that_can_be_seen_in_order(text: str) -> None:
    """B86"""
    chunks = split(text)
    assert all(units(chunk) <= LONGEST_TEXT and chunk.strip() for chunk in chunks)
    shown = "".join(text.replace("\ud800", "\ufffd").split())
    assert "".join("".join(chunks).split()) == (shown or "".join(NO_TEXT.split()))
