"""Settings: strings by name, from the environment and from Secrets Manager; no secret shows when one is printed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from urllib.parse import quote, unquote, urlsplit

from tidemill import jsontext, redaction
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
        self._secrets = self._find_secrets()
        self._forms = redaction.forms(self._secrets)

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

    def flag(self, name: str) -> bool:
        """A setting that is `true`, or else `false` or blank. Raises ConfigurationError that names it."""
        text = self._values.get(name, "").lower()
        if text not in ("", "true", "false"):
            raise ConfigurationError(f"the setting {name} must be true or false, not {text[:40]!r}")
        return text == "true"

    def redact(self, text: str) -> str:
        """The text with every known secret, in whichever form (see redaction), replaced by ***."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, "***")
        return text

    def hide(self, address: str) -> None:
        """Take the password of an address out of texts from now on, too: one that has replaced another."""
        self._hide(passwords_of(address))

    def hide_settings(self, names: Iterable[str]) -> None:
        """Take the values of these settings out of texts from now on, too: secrets that are not called so."""
        self._hide({secret for name in names for secret in secrets_in(self._values.get(name, ""))})

    def _hide(self, secrets: set[str]) -> None:
        self._secrets |= secrets
        self._forms = redaction.forms(self._secrets)

    def _find_secrets(self) -> set[str]:
        plain: set[str] = set()
        for name, value in self._values.items():
            if _secret_name.search(name) and not _not_secret.search(name):
                plain.update(part.strip() for part in value.split(","))
                plain.add(value)
            plain |= passwords_of(value)
        return plain


def load(environ: Mapping[str, str], fetch_secret: Callable[[str], str] | None = None) -> Settings:
    """The settings of this process: the environment over the JSON object in the secret named by SETTINGS_SECRET_ARN. A
    blank variable hides nothing; what in the object is no text counts as its JSON, null as missing.

    `fetch_secret(arn) -> text` reads a secret (default: Secrets Manager). DATABASE_SECRET_ARN names a secret of the form
    that RDS keeps ({"username", "password", "host", "port", "dbname"}), from which DATABASE_URL is made; without a password
    where DATABASE_IAM is true.
    """
    values: dict[str, str] = {}
    fetch = fetch_secret or _from_secrets_manager
    if arn := environ.get("SETTINGS_SECRET_ARN"):
        values.update({name: _text(value) for name, value in _secret_object(fetch, arn).items() if value is not None})
    values.update({name: value for name, value in environ.items() if value.strip() or name not in values})
    if (arn := environ.get("DATABASE_SECRET_ARN")) and not values.get("DATABASE_URL"):
        values["DATABASE_URL"] = _database_url(_secret_object(fetch, arn), values)
    return Settings(values)


def database_url_now(environ: Mapping[str, str], fetch_secret: Callable[[str], str] | None = None) -> str:
    """DATABASE_URL as `load` finds it, with secrets that are read anew, and not as they were some minutes ago."""
    return load(environ, fetch_secret or _from_secrets_manager_now)["DATABASE_URL"]


def secrets_in(value: str) -> list[str]:
    """The secrets in one setting, separated by commas (rotation); blank entries are dropped."""
    return [part.strip() for part in value.split(",") if part.strip()]


def has_blanks(value: str) -> bool:
    """Whether some of the secrets in one setting are blank, and others are not."""
    parts = value.split(",")
    return 0 < len(secrets_in(value)) < len(parts)


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
    user = values.get("DATABASE_USER") or secret.get("username")
    by_token = Settings(values).flag("DATABASE_IAM")
    if not host or not user or (not by_token and "password" not in secret):
        raise ConfigurationError("DATABASE_SECRET_ARN must hold username, password and host")
    name = values.get("DATABASE_NAME") or secret.get("dbname") or "postgres"
    password = "" if by_token else f":{quote(str(secret['password']), safe='')}"
    return f"postgresql://{quote(str(user), safe='')}{password}@{host}:{secret.get('port') or 5432}/{name}"


def passwords_of(value: str) -> set[str]:
    """The passwords in an address or a connection string, as they stand there and decoded."""
    return {form for password in _passwords_in(value) for form in (password, unquote(password))}


def _passwords_in(value: str) -> Iterator[str]:
    """The password in an address (all of one that cannot be read), and those of a connection string: password=..."""
    try:
        if "://" in value and (password := urlsplit(value).password):
            yield password
    except ValueError:
        yield value  # no address: the database client would repeat it as it is in its error
    for quoted, bare in _password_field.findall(value):
        yield quoted or bare
        yield re.sub(r"\\(.)", r"\1", quoted)


def _from_secrets_manager(arn: str) -> str:
    from aws_lambda_powertools.utilities.parameters import get_secret

    return str(get_secret(arn, max_age=300))


def _from_secrets_manager_now(arn: str) -> str:
    from aws_lambda_powertools.utilities.parameters import get_secret

    return str(get_secret(arn, force_fetch=True))
