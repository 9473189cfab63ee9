"""sources: what is configured to be received, and what each source still needs."""

from __future__ import annotations

from typing import Any

from tidemill.operate.operation import Operation, Parts

_TELEGRAM = "x-telegram-bot-api-secret-token"  # only Telegram's deliveries have it


def sources(parts: Parts, operation: Operation) -> dict[str, Any]:
    """{"sources": [{"name", "url", "ready", "secrets": [{"setting", "set"}], "register", "by_command"}]}: of each source the
    address to give to its sender, null where PUBLIC_URL is not set; the settings that it needs, and never their values;
    whether all are set; where its sender is told the address, and whether `tidemill sources --register` can tell it."""
    base = parts.settings.get("PUBLIC_URL", "").rstrip("/")
    found = []
    for name, source in sorted(parts.sources.items()):
        missing = source.missing(parts.settings)
        found.append({
            "name": name,
            "url": f"{base}/hooks/{name}" if base else None,
            "ready": not missing,
            "secrets": [{"setting": setting, "set": setting not in missing} for setting in source.secrets],
            "register": source.register,
            "by_command": _TELEGRAM in source.secret_headers,
        })  # fmt: skip
    return {"sources": found}
