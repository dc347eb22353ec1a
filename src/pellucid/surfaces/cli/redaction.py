"""What is secret in the address of a storage, and texts without it.

An address is redacted before anything parses it, because a parser that misreads it would take a part of the password
for the host or the file. `visible` is the address as it may be shown. Drivers and libraries put parts of it into errors
and log lines as well: once an address was passed to `remember`, `redacted` removes its secrets from any text, and log
records and warnings of this process lose them by themselves.
"""

from __future__ import annotations

import json
import re
import traceback
import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, quote_plus, unquote, unquote_plus

from pellucid.words import printable, printable_lines

if TYPE_CHECKING:
    from logging import LogRecord

_HIDDEN = "***"

_SCHEME = re.compile(r"[a-z][a-z0-9]*(?:\+[a-z0-9_]+)?://")
# What ends the name of a user and a password, and what begins a query or something like it; also if an address was
# encoded once too often.
_AT = re.compile(r"@|%(?:25)*40")
_END = re.compile(r"[?#;&]|%(?:25)*(?:3[FB]|2[36])", re.IGNORECASE)
# "host=h password=..." is how PostgreSQL's own programs name a database.
_SETTINGS = re.compile(r"=.*\s.*=|pass(?:word|wd)?\s*=", re.IGNORECASE | re.DOTALL)
_END_OF_SETTINGS = re.compile(f"{_END.pattern}|=", re.IGNORECASE)
# A host, a port and the name of a database. Anything else in their place may be a password.
_SERVER = re.compile(r"(?:\[[0-9A-Fa-f:.]*\]|[^:/\[\]]*)(?::[0-9]{0,5})?(?:/[^:]*)?")
# Whether a text that was given for something else, such as the name of a study, is an address: the message that refuses
# it would quote it.
_LIKE_ADDRESS = re.compile(
    rf"[:;]//|\w\w:.*:|:.*(?:{_AT.pattern})|(?:{_AT.pattern})[^/]*/|[?;&].*=|%(?:25)*3A%(?:25)*2F|{_SETTINGS.pattern}",
    re.IGNORECASE | re.DOTALL,
)
# The account of a database, which its messages may name. A longer or unusual one may be a token.
_PLAIN_USER = re.compile(r"[a-z_][a-z0-9_.-]{0,30}")
# Parts of a secret that are shorter are parts of too many words to be hidden in messages.
_SHORTEST_PART = 4
# Letters and digits of ASCII look the same however a text is encoded; others do not, so they stand for themselves.
_WORDS = tuple(re.compile(f"{kind}{{{_SHORTEST_PART},}}") for kind in (r"\w", "[A-Za-z0-9]", r"[^\W\x00-\x7f]"))
# Ordinary words of a query, without which messages could not be read.
_PLAIN_WORDS = frozenset(
    {"timeout", "connect_timeout", "mode", "ro", "rw", "rwc", "memory", "cache", "shared", "true", "false"}
    | {"sslmode", "require", "disable", "charset", "utf8", "utf8mb4", "password", "application_name"}
)


class _Parts(NamedTuple):
    """The parts of an address, in their order. Only `scheme` and `shown` may be seen.

    login   what is before the last @
    shown   a host, a port and a database, or a path
    other   what is in the place of a host and is none, or may be a part of the login or of the query
    query   a question mark, or something like it, and what follows
    """

    scheme: str
    login: str = ""
    shown: str = ""
    other: str = ""
    query: str = ""


def visible(address: str) -> str:
    """The address without the name of a user, a password and a query."""
    scheme, login, shown, other, query = _parts(address)
    more = other or (query and not (scheme and query.startswith("?")))
    return f"{scheme}{f'{_HIDDEN}@' if login else ''}{shown}{_HIDDEN if more else ''}"


def _parts(address: str) -> _Parts:
    scheme = match[0] if (match := _SCHEME.match(address)) else ""
    rest = address[len(scheme) :]
    end_of = _END_OF_SETTINGS if not scheme and _SETTINGS.search(rest) else _END
    login, shown = "", rest
    for at in _AT.finditer(rest):
        login, shown = rest[: at.start()], rest[at.end() :]
    if login and end_of.search(login):  # Either the password has a question mark, or the query has an @.
        return _Parts(scheme, other=rest)
    query = ""
    if end := end_of.search(shown):
        shown, query = shown[: end.start()], shown[end.start() :]
    names_file = not scheme or (scheme.startswith("sqlite") and rest.startswith("/"))
    if not names_file and not _SERVER.fullmatch(shown):
        return _Parts(scheme, login, other=shown, query=query)
    first, colon, others = shown.partition(":")
    if not scheme and ":" in others:  # A path has one colon at most, that of a drive.
        return _Parts(scheme, login, first, f"{colon}{others}", query)
    return _Parts(scheme, login, shown, query=query)


# ---------------------------------------------------------------------- messages of others


def secrets_in(address: str) -> frozenset[str]:
    """What no message may contain: the hidden parts of the address, and the words in them, however they are encoded."""
    parts = _parts(address)
    user, colon, password = parts.login.partition(":")
    other = "" if parts.login else parts.other  # After an @, it is the host after all.
    secrets = {password, other, parts.query[1:], *_words(password), *_words(other)}
    values = {entry.partition("=")[2] for entry in re.split("[?&;#]", parts.query)}
    values = {value for value in values if len(value) >= _SHORTEST_PART or not value.isdecimal()}
    secrets |= (values | _words(parts.query)) - _PLAIN_WORDS
    if not _PLAIN_USER.fullmatch(user):
        # A folder may have an @ in its name. The folders that it is in are those of other files, too.
        secrets |= {user} if re.match("/[^/]", user) and not colon else {user, *_words(user)}
    return frozenset(form for secret in secrets if secret.strip() for form in _forms(secret))


def _words(secret: str) -> set[str]:
    """The words of a text and of what it encodes: a driver that misreads an address may name any of them."""
    texts = (secret, unquote(secret), unquote(unquote(secret)))
    return {word for text in texts for pattern in _WORDS for word in pattern.findall(text)}


def _forms(secret: str) -> Iterator[str]:
    """A secret as it was written, decoded, and encoded in other ways."""
    for text in {secret, unquote(secret), unquote_plus(secret)}:
        encoded = text.encode(errors="surrogatepass")
        yield from (
            text,
            repr(text)[1:-1],
            ascii(text)[1:-1],
            printable(text),
            json.dumps(text)[1:-1],
            " ".join(text.split()),
        )
        once = quote(encoded, "")
        yield from (once, quote(once, ""), quote(encoded), quote_plus(encoded), str(encoded)[2:-1])


class _Known:
    """The secrets that this process has to keep, and a pattern of them once it is needed."""

    def __init__(self) -> None:
        self.secrets: frozenset[str] = frozenset()
        self.pattern: re.Pattern[str] | None = None


_known = _Known()


def remember(addresses: Iterable[str]) -> None:
    """Keep the secrets of these addresses out of all texts that `redacted` returns, of logs and of warnings."""
    new = frozenset[str]().union(*map(secrets_in, addresses)) - _known.secrets
    if new:
        _known.secrets |= new
        _known.pattern = None
        guard_logs()


def remember_arguments(arguments: Iterable[str]) -> None:
    """Do so for those arguments of a command that look like addresses, wherever they stand."""
    values = (re.sub("^-+(?:[a-z-]+=)?", "", argument) for argument in arguments)
    remember(value for value in values if _LIKE_ADDRESS.search(value))


def forget() -> None:
    """Begin again, as a new process does."""
    _known.secrets, _known.pattern = frozenset(), None


def redacted(text: str) -> str:
    """The text without the secrets of all addresses that this process knows."""
    if not _known.secrets:
        return text
    if _known.pattern is None:
        _known.pattern = _pattern(_known.secrets)
    return _known.pattern.sub(_HIDDEN, text)


def _pattern(secrets: Iterable[str]) -> re.Pattern[str]:
    """The longest secret comes first. One that is shorter than a word counts only where it stands alone."""
    longest_first = sorted((secret for secret in secrets if secret.strip()), key=lambda secret: (-len(secret), secret))
    alternatives = (
        re.escape(secret) if len(secret) >= _SHORTEST_PART else rf"(?<!\w){re.escape(secret)}(?!\w)"
        for secret in longest_first
    )
    return re.compile("|".join(alternatives), re.IGNORECASE)


# ---------------------------------------------------------------------- logs and warnings


def guard_logs() -> None:
    """Make log records of all loggers harmless when they are made, and warnings when they are printed; once."""
    import logging

    if not isinstance(logging.getLogRecordFactory(), _Records):
        logging.setLogRecordFactory(_Records(logging.getLogRecordFactory()))
    if not isinstance(warnings.formatwarning, _Warnings):
        warnings.formatwarning = _Warnings(warnings.formatwarning)


def _harmless(text: str) -> str:
    """Without secrets, and without characters that control a terminal."""
    return printable_lines(redacted(text))


class _Records:
    """Makes log records. One that is not harmless gets a text instead of what it was made of; others stay."""

    def __init__(self, make: Any) -> None:
        self._make = make

    def __call__(self, *arguments: Any, **named: Any) -> LogRecord:
        record: LogRecord = self._make(*arguments, **named)
        try:
            message = record.getMessage()
        except Exception:  # To say that text and values do not fit together, logging would print both.
            message = f"{record.msg} {record.args!r}"
        if (harmless := _harmless(message)) != message:
            record.msg, record.args = harmless, None
        if record.exc_info and record.exc_info[0] is not None:
            lines = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
            if (harmless := _harmless(lines)) != lines:
                record.exc_text, record.exc_info = harmless, None
        return record


class _Warnings:
    """Writes a warning as a text."""

    def __init__(self, write: Any) -> None:
        self._write = write

    def __call__(self, *arguments: Any, **named: Any) -> str:
        return _harmless(self._write(*arguments, **named))
