"""The names of the settings that a source looks for unless it is told others."""

from __future__ import annotations

import re


def named(name: str, suffix: str = "WEBHOOK_SECRET") -> str:
    """`<SOURCE>_WEBHOOK_SECRET`: of the source `shop-eu`, SHOP_EU_WEBHOOK_SECRET."""
    return f"{re.sub('[^A-Z0-9]', '_', name.upper())}_{suffix}"
