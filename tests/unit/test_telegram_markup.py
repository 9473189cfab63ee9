"""Markup is told beside the text: what is none is text, and no cut goes through it."""

from __future__ import annotations

import html
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tidemill.telegram_text import Entity, messages, parse

from tests.unit.answers import Answers
from tests.unit.test_telegram import bot

SMILE = "\U0001f600"


@pytest.mark.parametrize(
    ("source", "text", "entities"),
    [
        ("<b>bold</b> and not", "bold and not", [("bold", 0, 4)]),
        ("<i>a</i><u>b</u><s>c</s>", "abc", [("italic", 0, 1), ("underline", 1, 2), ("strikethrough", 2, 3)]),
        ("<code>x &lt; y</code>", "x < y", [("code", 0, 5)]),
        ("<PRE>x</Pre>", "x", [("pre", 0, 1)]),
        ("<b>a<i>b</i>c</b>", "abc", [("italic", 1, 2), ("bold", 0, 3)]),
        ("<b>a<i>b</b>c</i>", "abc</i>", [("italic", 1, 2), ("bold", 0, 2)]),
        (f"{SMILE}<b>{SMILE}</b>", SMILE * 2, [("bold", 2, 4)]),
        ("&lt;b&gt; &amp;lt; &#233;", "<b> &lt; é", []),
        ("<b>a</i>b</b>", "a</i>b", [("bold", 0, 6)]),
        ("<b>not ended", "not ended", [("bold", 0, 9)]),
        ("ended only</b>", "ended only</b>", []),
        ('<a href="https://mill.test">link</a>', '<a href="https://mill.test">link</a>', []),
        ("<tag> < b > <b x> <br/> <!-- --> &unknown", "<tag> < b > <b x> <br/> <!-- --> &unknown", []),
        ("", "", []),
    ],
)
def test_some_tags_are_markup_and_all_else_is_text(source: str, text: str, entities: list[tuple[str, int, int]]) -> None:
    """B87"""
    assert parse(source) == (text, [Entity(*one) for one in entities])


@given(st.text(alphabet=st.sampled_from("<>&;/bi#x3 _*[`\\\n\U0001f600\u00e9")))
def test_what_is_escaped_is_sent_as_it_was(text: str) -> None:
    """B87"""
    assert parse(html.escape(text)) == (text, [])
    shown, entities = parse(f"<b>{html.escape(text)}</b>")
    assert (shown, entities) == (text, [Entity("bold", 0, len(text.encode("utf-16-le")) // 2)])


def test_without_html_a_tag_is_text() -> None:
    """B87"""
    assert messages("<b>_Foo*[x &lt;</b>") == [{"text": "<b>_Foo*[x &lt;</b>"}]


def test_markup_goes_on_in_the_next_message() -> None:
    """B86"""
    first, second = messages("x<b>" + "y" * 5000 + "</b><code>z</code>", html=True)
    assert first == {"text": "x" + "y" * 4095, "entities": [{"type": "bold", "offset": 1, "length": 4095}]}
    code = {"type": "code", "offset": 905, "length": 1}
    assert second == {"text": "y" * 905 + "z", "entities": [{"type": "bold", "offset": 0, "length": 905}, code]}


def test_neither_a_tag_nor_an_escape_is_cut_or_counted() -> None:
    """B86"""
    assert messages("<b></b>" + "&lt;" * 4096, html=True) == [{"text": "<" * 4096}]


def test_a_message_that_is_left_out_moves_nothing() -> None:
    first, second = messages("a" * 4096 + "\n" * 4096 + "<i>b</i>", html=True)
    assert first == {"text": "a" * 4096}
    assert second == {"text": "b", "entities": [{"type": "italic", "offset": 0, "length": 1}]}


pieces = st.sampled_from(["<b>", "</b>", "<code>", "</code>", "<", "&lt;", "&", "a" * 1500, SMILE * 700, "\n", " " * 2000])


def marked(message: dict[str, Any]) -> list[tuple[int, int]]:
    return [(one["offset"], one["offset"] + one["length"]) for one in message.get("entities", [])]


@given(st.lists(pieces, max_size=25).map("".join))
def test_whatever_is_sent_every_mark_lies_in_its_message_and_between_characters(source: str) -> None:
    """B86"""
    for message in messages(source, html=True):
        data = message["text"].encode("utf-16-le")
        assert len(data) <= 2 * 4096
        for start, end in marked(message):
            assert 0 <= start < end <= len(data) // 2
            data[: 2 * start].decode("utf-16-le"), data[2 * start : 2 * end].decode("utf-16-le")


@given(st.lists(pieces, max_size=25).map("".join))
def test_marks_lie_in_each_other_or_apart(source: str) -> None:
    _, entities = parse(source)
    for (_, start, end), (_, other, over) in pairwise(sorted(entities, key=lambda one: (one.start, -one.end))):
        assert over <= end or other >= end or (start, end) == (other, over)


def test_a_text_with_html_is_sent_with_what_is_marked() -> None:
    answers = Answers()
    bot(answers).send_message(7, "<b>Order</b> 17", html=True)
    marks = [{"type": "bold", "offset": 0, "length": 5}]
    assert answers.sent == [{"chat_id": 7, "text": "Order 17", "entities": marks}]
