"""A CloudWatch alarm, as SNS delivers it, told by Telegram. It needs no database, so that a broken one is told."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from tidemill import jsontext
from tidemill.settings import Settings
from tidemill.telegram import Telegram
from tidemill.telemetry import Log

LONGEST = 3000  # bytes of a text

_HEADLINES = {"ALARM": "ALARM", "OK": "Over", "INSUFFICIENT_DATA": "No data"}
_NEVER_ON = "Fine, after a time without data"  # a new alarm begins without data, and was not on when it becomes OK
_CONSOLES = {"aws": "console.aws.amazon.com", "aws-cn": "console.amazonaws.cn", "aws-us-gov": "console.amazonaws-us-gov.com"}
_arn = re.compile(r"arn:([a-z-]+):cloudwatch:([a-z0-9-]+):[0-9]*:alarm:(.+)", re.DOTALL)


def tell(event: object, settings: Settings, telegram: Telegram, log: Log) -> None:
    """Send what an SNS event holds to TELEGRAM_ALERT_CHAT_ID, and write it into the log. Whatever it holds is told: what is
    no alarm as it came, cut to 3000 bytes.

    Raises ConfigurationError that names the settings that are missing, and what `Telegram.send_message` raises, after all
    others were sent: Lambda then invokes again.
    """
    found = [jsontext.clean(settings.redact(text), LONGEST) for text in texts(event)]  # a cut could leave half a secret
    for text in found:
        log.error("alarm", alarm=text)
    settings.require("TELEGRAM_BOT_TOKEN", "TELEGRAM_ALERT_CHAT_ID")
    fault: Exception | None = None
    for text in found:
        try:
            telegram.send_message(settings["TELEGRAM_ALERT_CHAT_ID"], text)
        except Exception as error:
            fault = error
    if fault is not None:
        raise fault


def texts(event: object) -> list[str]:
    """One text for each record of an SNS event; at least one."""
    records = event.get("Records") if isinstance(event, dict) else None
    if not isinstance(records, list) or not records:
        return [_raw("The alarm function was invoked with something that is no SNS event", _shown(event))]
    return [_text(record) for record in records]


def _text(record: object) -> str:
    sns = record.get("Sns") if isinstance(record, dict) else None
    if not isinstance(sns, dict) or not isinstance(content := sns.get("Message"), str):
        return _raw("A record came to the alarm function that is not from SNS", _shown(record))
    try:
        alarm = jsontext.loads(content)
    except ValueError:
        alarm = None
    if isinstance(alarm, dict) and _string(alarm, "AlarmName") and _string(alarm, "NewStateValue") in _HEADLINES:
        return _told(alarm)
    subject = sns.get("Subject")
    about = "Something came to the topic of the alarms that is no alarm"
    return _raw(about, f"{subject}\n{content}" if subject else content)


def _told(alarm: dict[str, Any]) -> str:
    """https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-actions.html and, of composite alarms, the same
    fields without a Trigger."""
    state, since = _string(alarm, "NewStateValue"), _instant(_string(alarm, "StateChangeTime"))
    headline = _NEVER_ON if (state, alarm.get("OldStateValue")) == ("OK", "INSUFFICIENT_DATA") else _HEADLINES[state]
    region, account = _string(alarm, "Region"), _string(alarm, "AWSAccountId")
    lines = [
        f"{headline}: {_string(alarm, 'AlarmName')}",
        _string(alarm, "AlarmDescription"),
        since and f"since {since}",
        f"account {account}, {region}" if account and region else account or region,
        _link(_string(alarm, "AlarmArn")),
        _string(alarm, "NewStateReason"),  # the last one: it is what may be cut
    ]
    return "\n".join(line for line in lines if line)


def _instant(text: str) -> str:
    """2027-04-30T09:00:00.123+0000 as a person reads it, in UTC; as it came where it is something else."""
    try:
        found = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z")
    except ValueError:
        return text
    return f"{found.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _link(arn: str) -> str:
    """The alarm in the console of its region, which only its ARN names by its code; '' where it is none."""
    found = _arn.fullmatch(arn)
    if found is None or (console := _CONSOLES.get(found[1])) is None:
        return ""
    return f"https://{found[2]}.{console}/cloudwatch/home?region={found[2]}#alarmsV2:alarm/{quote(found[3], safe='')}"


def _string(alarm: dict[str, Any], name: str) -> str:
    return value.strip() if isinstance(value := alarm.get(name), str) else ""


def _raw(about: str, text: str) -> str:
    return f"{about}:\n{text}"


def _shown(value: object) -> str:
    try:
        return jsontext.dumps(value)
    except ValueError:
        return repr(value)
