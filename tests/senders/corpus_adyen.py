"""Adyen, whose signatures stand in the body: one for each item of a batch, over some of its fields."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator

from tidemill import Request

from tests.senders.corpus import Case, Sender, base64_text
from tests.senders.corpus_in_body import Json, posted, secrets

ITEM = "NotificationRequestItem"
HEX_KEY, OTHER_HEX_KEY = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056", "0f" * 32


def official(request: Request, secret: str, now: float) -> bool:
    from Adyen.util import is_valid_hmac_notification

    return bool(is_valid_hmac_notification(json.loads(request.body), secret))


adyen = Sender(
    "adyen",
    secrets=(HEX_KEY, OTHER_HEX_KEY),
    official=official,
    differs={f"second item {name}": "every item" for name in ("of somebody else", "changed", "unsigned")},
)


def item_of(key: str = HEX_KEY, **changes: Json) -> Json:
    item = {
        "pspReference": "7914073381342284",
        "originalReference": "",
        "merchantAccountCode": "TestMerchant",
        "merchantReference": "TestPayment-1407325143704",
        "amount": {"value": 1130, "currency": "EUR"},
        "eventCode": "AUTHORISATION",
        "success": "true",
        "eventDate": "2027-01-15T09:00:00+01:00",
    } | changes
    amount = item["amount"]
    names = ("pspReference", "originalReference", "merchantAccountCode", "merchantReference")
    values = (*(item[name] for name in names), amount["value"], amount["currency"], item["eventCode"], item["success"])
    digest = hmac.digest(bytes.fromhex(key), ":".join(map(str, values)).encode(), "sha256")
    return {ITEM: {"additionalData": {"hmacSignature": base64_text(digest)}} | item}


def batch(*items: Json) -> Json:
    return {"live": "false", "notificationItems": list(items)}


def cases() -> Iterator[Case]:
    one, two = item_of(), item_of(pspReference="8515131751004933", eventCode="CAPTURE", originalReference="79140733")
    foreign = item_of(OTHER_HEX_KEY)
    bare = {ITEM: {name: value for name, value in one[ITEM].items() if name != "additionalData"}}
    others = (
        item_of(merchantReference="Grüße 🌍"),
        item_of(amount={"value": 0, "currency": "JPY"}, success="false"),
        item_of(merchantReference="a:b\\c"),
        item_of(eventCode="REPORT_AVAILABLE", merchantReference=""),
    )
    for number, items in enumerate([(one,), (one, two), (two, one, *others), *((item,) for item in others)]):
        yield Case(adyen, f"genuine {number}", posted(batch(*items)), genuine=True)
    for name, field, value in (
        ("pspReference", "pspReference", "7914073381342285"),
        ("originalReference", "originalReference", "1"),
        ("merchantAccountCode", "merchantAccountCode", "OtherMerchant"),
        ("merchantReference", "merchantReference", "TestPayment-2"),
        ("value", "amount", {"value": 1131, "currency": "EUR"}),
        ("currency", "amount", {"value": 1130, "currency": "USD"}),
        ("eventCode", "eventCode", "REFUND"),
        ("success", "success", "false"),
        ("no pspReference", "pspReference", ""),
        ("signature", "additionalData", foreign[ITEM]["additionalData"]),
        ("empty signature", "additionalData", {"hmacSignature": ""}),
        ("signature not ASCII", "additionalData", {"hmacSignature": "é" * 44}),
        ("signature a number", "additionalData", {"hmacSignature": 1}),
        ("signature null", "additionalData", {"hmacSignature": None}),
        ("signature a list", "additionalData", {"hmacSignature": []}),
        ("no signature", "additionalData", {}),
        ("additionalData null", "additionalData", None),
        ("additionalData a text", "additionalData", "x"),
        ("amount null", "amount", None),
        ("amount a number", "amount", 1130),
    ):
        item = {ITEM: one[ITEM] | {field: value}}
        yield Case(adyen, f"changed: {name}", posted(batch(item)))
    moved = {ITEM: two[ITEM] | {"additionalData": one[ITEM]["additionalData"]}}
    for name, item in (("of somebody else", foreign), ("changed", moved), ("unsigned", bare)):
        yield Case(adyen, f"first item {name}", posted(batch(item, one)))
        yield Case(adyen, f"second item {name}", posted(batch(one, item)))
    for name, document in (
        ("no items", batch()),
        ("items null", {"notificationItems": None}),
        ("items an object", {"notificationItems": {"0": one}}),
        ("an item that is none", {"notificationItems": [one[ITEM]]}),
        ("an item that is a number", {"notificationItems": [7]}),
        ("no object", [one]),
        ("empty", b""),
        ("not JSON", b"notificationItems="),
    ):
        yield Case(adyen, f"body: {name}", posted(document))
    yield from secrets(adyen, posted(batch(one)), posted(batch(foreign)), ("zz", "é", "4"))
