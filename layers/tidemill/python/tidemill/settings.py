"""Settings: strings by name, from the environment and from Secrets Manager; no secret shows when one is printed."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import quote, unquote, urlsplit

from tidemill import jsontext
from tidemill.errors import ConfigurationError

_secret_name = re.compile(r"SECRET|TOKEN|PASSWORD|PASSWD|API_KEY|PRIVATE|CREDENTIAL|_KEY$")
_not_secret = re.compile(r"(_ARN|_URL|_ID|_NAME)$")
_password_field = re.compile(r"\bpassword\s*=\s*(?:'((?:[^'\\]|\\.)*)'|([^\s&']+))")


class Settings(Mapping[str, str]):
    """The settings as a mapping of strings; edge white space (a newline at the end of a stored secret) is stripped.

    A missing name is a KeyError that says which setting is missing. `repr` and `str` show how many there are.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = {name: value.strip() for name, value in values.items()}
        self._secrets = sorted(self._find_secrets(), key=len, reverse=True)

    def __getitem__(self, name: str) -> str:
        try:
            return self._values[name]
        except KeyError:
            raise KeyError(f"the setting {name} is missing") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Settings({len(self._values)} names)"

    def require(self, *names: str) -> None:
        """Raise ConfigurationError that names every one of `names` that is missing or empty."""
        missing = [name for name in names if not self._values.get(name)]
        if missing:
            raise ConfigurationError(f"missing settings: {', '.join(missing)}")

    def number(self, name: str, default: float) -> float:
        """A setting that is a number of at least zero. Raises ConfigurationError that names it."""
        text = self._values.get(name, "")
        try:
            value = float(text) if text else float(default)
        except ValueError:
            raise ConfigurationError(f"the setting {name} must be a number, not {text[:40]!r}") from None
        if not 0 <= value < float("inf"):
            raise ConfigurationError(f"the setting {name} must be a number of at least zero, not {text[:40]!r}")
        return value

    def redact(self, text: str) -> str:
        """The text with every known secret, plain, percent-encoded or in base64, replaced by ***."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, "***")
        return text

    def _find_secrets(self) -> set[str]:
        plain: set[str] = set()
        for name, value in self._values.items():
            if _secret_name.search(name) and not _not_secret.search(name):
                plain.update(part.strip() for part in value.split(","))
                plain.add(value)
            for password in _passwords_in(value):
                plain.update({password, unquote(password)})
        # Shorter ones would blank out ordinary words; a secret of under six characters protects nothing anyway.
        plain = {secret for secret in plain if len(secret) >= 6}
        encoded = {quote(secret, safe="") for secret in plain}
        encoded |= {base64.b64encode(secret.encode()).decode() for secret in plain}
        encoded |= {json.dumps(secret)[1:-1] for secret in plain}
        return plain | encoded


def load(environ: Mapping[str, str], fetch_secret: Callable[[str], str] | None = None) -> Settings:
    """The settings of this process: the environment over the JSON object in the secret named by SETTINGS_SECRET_ARN. A
    blank variable hides nothing; what in the object is no text counts as its JSON, null as missing.

    `fetch_secret(arn) -> text` reads a secret (default: Secrets Manager). DATABASE_SECRET_ARN names a secret of the form
    that RDS keeps ({"username", "password", "host", "port", "dbname"}), from which DATABASE_URL is made.
    """
    values: dict[str, str] = {}
    fetch = fetch_secret or _from_secrets_manager
    if arn := environ.get("SETTINGS_SECRET_ARN"):
        values.update({name: _text(value) for name, value in _secret_object(fetch, arn).items() if value is not None})
    values.update({name: value for name, value in environ.items() if value.strip() or name not in values})
    if (arn := environ.get("DATABASE_SECRET_ARN")) and not values.get("DATABASE_URL"):
        values["DATABASE_URL"] = _database_url(_secret_object(fetch, arn), values)
    return Settings(values)


def secrets_in(value: str) -> list[str]:
    """The secrets in one setting, separated by commas (rotation); blank entries are dropped."""
    return [part.strip() for part in value.split(",") if part.strip()]


def _text(value: object) -> str:
    return value if isinstance(value, str) else jsontext.dumps(value)


def _secret_object(fetch: Callable[[str], str], arn: str) -> dict[str, object]:
    try:
        value = jsontext.loads(fetch(arn))
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ConfigurationError(f"the secret {arn} must hold a JSON object")
    return value


def _database_url(secret: Mapping[str, object], values: Mapping[str, str]) -> str:
    host = values.get("DATABASE_HOST") or secret.get("host")
    if not host or "username" not in secret or "password" not in secret:
        raise ConfigurationError("DATABASE_SECRET_ARN must hold username, password and host")
    name = values.get("DATABASE_NAME") or secret.get("dbname") or "postgres"
    user, password = quote(str(secret["username"]), safe=""), quote(str(secret["password"]), safe="")
    return f"postgresql://{user}:{password}@{host}:{secret.get('port') or 5432}/{name}"


def _passwords_in(value: str) -> Iterator[str]:
    """The password in an address (all of one that cannot be read), and those of a connection string: password=..."""
    try:
        if "://" in value and (password := urlsplit(value).password):
            yield password
    except ValueError:
        yield value  # no address: the database client would repeat it as it is in its error
    for quoted, bare in _password_field.findall(value):
        yield quoted or bare


def _from_secrets_manager(arn: str) -> str:
    from aws_lambda_powertools.utilities.parameters import get_secret

    return str(get_secret(arn, max_age=300))
