"""How the senders sign that put an HMAC of the raw body, and of nothing else, into a header, and those that sign the
address with it."""

from __future__ import annotations

from tests.senders import corpus_officials as official
from tests.senders.corpus import Scheme, base64_text

MULTIBYTE = '{"id":"evt_2","name":"Zoë 👍 Ünïcode €","path":"a/b"}'.encode()
ESCAPES = b'{"b":1, "a":"\\u003cp\\u003e\\ud83d\\udc4d", "a":2, "id":"evt_3"}\n'
BODIES = (
    b'{"id":"evt_1","type":"order.paid","amount":1999,"live":true}',
    MULTIBYTE,
    ESCAPES,
    b'\xef\xbb\xbf{"id": "evt_4"}',
    b"{}",
    b"not json at all",
    b'{"id":"a\\u0000b","lone":"\\ud800","big":1e400}',
    b"[" * 300 + b"]" * 300,
)
FORM = b"payload=%7B%22zen%22%3A%22caf%C3%A9+%2B+th%C3%A9%22%7D&empty=&twice=1&twice=2"
LARGE = b'{"id":"evt_5","text":"' + b"0123456789abcdef" * 4096 + b'"}'

# The package takes one value a header (the last one); where that is the good one, it accepts.
ONE_VALUE = {
    "two signatures: bad, good": "one value",
    "two signatures, of two cases: bad, good": "one value",
}
NO_KEY = {"empty secret, signed with none": "no secret"}
CAPITALS = {"signature in capitals": "either case"}
AS_TEXT = {"raw bytes": "raw bytes"}

github = Scheme(
    "github",
    "X-Hub-Signature-256",
    (*BODIES, FORM, LARGE, b""),
    form="sha256={sig}",
    official=official.github,
    differs=ONE_VALUE | NO_KEY | CAPITALS | {"SHA-1 in the header of SHA-256": "SHA-256"},
)
line = Scheme(
    "line",
    "X-Line-Signature",
    (
        b'{"destination":"U1","events":[{"webhookEventId":"01H","type":"message","message":{"text":"hi"}}]}',
        '{"events":[{"webhookEventId":"01H","message":{"text":"こんにちは 👋"}},{"webhookEventId":"01J"}]}'.encode(),
        b'{"destination":"U1","events":[{"type":"follow"}]}',
    ),
    encode=base64_text,
    official=official.line,
    differs=ONE_VALUE | NO_KEY | AS_TEXT,
)
razorpay = Scheme(
    "razorpay",
    "X-Razorpay-Signature",
    (*BODIES, b""),
    official=official.razorpay,
    differs=ONE_VALUE | NO_KEY | AS_TEXT | CAPITALS,
)
square = Scheme(
    "square",
    "x-square-hmacsha256-signature",
    BODIES,
    signed="{url}{body}",
    encode=base64_text,
    official=official.square,
    differs=ONE_VALUE | AS_TEXT,
)

# These have no package on PyPI that checks a request.
bitbucket = Scheme("bitbucket", "X-Hub-Signature", (*BODIES, LARGE, b""), form="sha256={sig}")
intercom = Scheme("intercom", "X-Hub-Signature", (*BODIES, b""), form="sha1={sig}", algorithm="sha1")
META_BODIES = (
    b'{"object":"whatsapp_business_account","entry":[{"changes":[{"value":{"messages":[{"id":"wamid.1"}]}}]}]}',
    '{"object":"page","entry":[{"messaging":[{"message":{"mid":"m_1","text":"Grüße 🌍"}}]}]}'.encode(),
    b'{"object":"whatsapp_business_account","entry":[{"changes":[{"value":{"statuses":[{"id":"wamid.1","status":"read"}]}}]}]}',
)
meta = Scheme("meta", "X-Hub-Signature-256", META_BODIES, form="sha256={sig}")
whatsapp = Scheme("whatsapp", "X-Hub-Signature-256", META_BODIES, form="sha256={sig}")
shopify = Scheme("shopify", "X-Shopify-Hmac-Sha256", (*BODIES, LARGE, b""), encode=base64_text)
shopify_events = Scheme("shopify", "shopify-hmac-sha256", BODIES, encode=base64_text, label="shopify events")
typeform = Scheme("typeform", "Typeform-Signature", (*BODIES, b""), form="sha256={sig}", encode=base64_text)
paystack = Scheme("paystack", "x-paystack-signature", (*BODIES, b""), algorithm="sha512")
dropbox = Scheme("dropbox", "X-Dropbox-Signature", (b'{"list_folder":{"accounts":["dbid:AAH4"]}}', *BODIES))
notion = Scheme("notion", "X-Notion-Signature", (*BODIES, LARGE), form="sha256={sig}")

SCHEMES = (
    github,
    line,
    razorpay,
    square,
    bitbucket,
    intercom,
    meta,
    whatsapp,
    shopify,
    shopify_events,
    typeform,
    paystack,
    dropbox,
    notion,
)
