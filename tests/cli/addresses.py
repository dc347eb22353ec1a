"""Addresses of storages with a secret in them, well-formed and malformed, as users and programs may write them."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

# The ten that version 1.0.0rc1 showed.
SHOWN_ONCE = (
    "postgresql://u:aa@{}@127.0.0.1:1/db",
    "postgresql:/u:{}@h/db",
    "postgresql:u:{}@h/db",
    "u:{}@h/db",
    "u:{}@h/db.log",
    "postgresql;//u:{}@h/db",
    "postgresql:///u:{}@h/db",
    "postgresql://u:p/{}@h:port/db",
    "sqlite:///:memory:?key={}",
    "sqlite:///x.db?mode=memory&key={}",
)
SHAPES = (
    *SHOWN_ONCE,
    # Where drivers look for them.
    *("postgresql://u:{}@127.0.0.1:1/db", "postgresql+psycopg2://u:{}@127.0.0.1:1/db", "postgresql://u:{}@/db"),
    *("mysql+pymysql://root:{}@127.0.0.1:1/db", "mariadb://root:{}@localhost", "postgresql://u:{}@[::1]:1/db"),
    *("postgresql://127.0.0.1:1/db?password={}", "postgresql://u@127.0.0.1:1/db?user=u&password={}&sslmode=require"),
    *(
        "postgresql://u:p@127.0.0.1:1/db?options={}#{}",
        "mysql://127.0.0.1:1/db?ssl_key={}",
        "oracle://u:{}@h:1521/?x=1",
    ),
    *(
        "sqlite:///x.db?key={}",
        "sqlite:///file:x.db?uri=true&vfs={}",
        "sqlite:///x.db?timeout={}",
        "nonsense://u:{}@h/d",
    ),
    *("grpc://u:{}@localhost:13000", "grpc://localhost:13000?token={}", "grpc://u:{}@[::1]:13000", "mssql://u:{}@h/d"),
    # A token in the place of the user.
    *("postgresql://{}@127.0.0.1:1/db", "postgresql://{}:@127.0.0.1:1/db", "{}@127.0.0.1/db", "//{}@h/db"),
    # Typing errors.
    *("postgresql://u:{}@", "postgresql://u:{}@h:99999999/db", "postgresql//u:{}@h/db", "//u:{}@h/db", "/u:{}@h/db"),
    *(" postgresql://u:{}@h/db", "POSTGRESQL://U:{}@H/DB", "post gresql://u:{}@h/db", "postgresql://u: {} @h/db"),
    *(
        "postgresql://u;{}@h/db",
        "postgresql://h/db;password={}",
        "postgresql://h/db#{}",
        "postgresql://h/db&password={}",
    ),
    *(
        "sqlite:/u:{}@h/x.db",
        "sqlite:x.db?key={}",
        "sqlite://u:{}@h/x.db",
        "sqlite:///u:{}@h/x.db",
        "sqlite:///x.db#{}",
    ),
    *("x.log?key={}", "u:{}@h/x.journal", "u:{}@h.log", "x.journal;key={}", "~u:{}@h/x.log"),
    # Other ways to name a database.
    *("host=127.0.0.1 user=u password={}", "password={} host=h", "jdbc:postgresql://h/db?user=u&password={}"),
    *("jdbc:sqlserver://h;user=u;password={}", "postgresql://h/db?user=u?password={}", "odbc://h/?odbc_connect=PWD={}"),
    *("postgresql%3A%2F%2Fu%3A{}%40h%2Fdb", "postgresql://u%3A{}%40h/db", "postgresql%253A//u%253A{}%2540h/db"),
)
# Without a host, nothing tells the end of a password with an @ from a host.
NO_HOST = ("postgresql://u:{}", "postgresql://u:{}/db", "postgresql:u:{}", "postgresql:/u:{}", "postgresql:///u:{}")
_BETWEEN = (
    *("@", "@@", "/", "//", ":", "://", ";", "?", "#", "&", "=", "%", "+", ",", ".", "-", "_", "~", "!", "$", "*", "|"),
    *("(", ")", "[", "]", "{", "}", "<", ">", "'", '"', "`", "\\", "^", " ", "  ", "%40", "%2F", "%3A", "%3F", "%00"),
    *("%zz", "%E9", "%25", "%2540", "\t", "\n", "\r\n", "\0", "\x07", "\x1b[2J", "\x1b]52;c;", "\x7f", "\x85"),
    *("\u202e", "\u2028", "\ufeff", "é", "ß", "你", "🔑", "\udcff", "@h/", "/@", "?a=", "&b=", "#@", ":x@"),
)
_LETTERS = {
    "ascii": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    "greek": "αβγδεζηθικλμνξοπρστυφχψω",
}


@dataclass(frozen=True)
class Address:
    """An address and the words of its secret: no text may contain any of them."""

    text: str
    words: tuple[str, ...]


def addresses(count: int, seed: int) -> list[Address]:
    """Every shape equally often, each time with another secret."""
    draw = random.Random(seed)
    shapes = (*SHAPES, *NO_HOST)
    return [_address(shapes[i % len(shapes)], draw) for i in range(count)]


def _address(shape: str, draw: random.Random) -> Address:
    words = tuple(_word(draw) for _ in range(draw.choice((1, 1, 2, 3))))
    between = [text for text in _BETWEEN if shape not in NO_HOST or ("@" not in text and "40" not in text)]
    secret = words[0]
    for word in words[1:]:
        secret += draw.choice(between) + word
    secret += draw.choice(("", "", draw.choice(between)))
    if draw.random() < 0.6:
        secret = quote(secret, safe="", errors="surrogateescape")
    return Address(shape.replace("{}", secret), words)


def _word(draw: random.Random) -> str:
    """With a capital letter or in another script: names of accounts and of databases are in small letters of ASCII."""
    if draw.random() < 0.1:
        return "".join(draw.choices(_LETTERS["greek"], k=8))
    return "Q" + "".join(draw.choices(_LETTERS["ascii"], k=7))


def leaked(address: Address, text: str) -> list[str]:
    """The words of the secret that a text shows: also in another case, encoded, escaped, or folded to the width of a
    box."""
    joined = re.sub(r"[\s│]+", "", text)
    escaped = re.sub(r"\\+(?:u(\w{4})|x(\w{2}))", lambda code: chr(int(code[1] or code[2], 16)), joined, flags=re.ASCII)
    decoded = escaped.encode("latin-1", "ignore").decode("utf-8", "ignore")
    seen = "\n".join((text, joined, unquote(joined), unquote(unquote(joined)), escaped, decoded)).casefold()
    return [word for word in address.words if word.casefold() in seen]
