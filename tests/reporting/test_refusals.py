"""What the live report answers to requests that no browser sends: no page of http.server's own, and all headers."""

from __future__ import annotations

import socket
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest
from tests.reporting.served import PATIENCE_S, served, stored_study


def reply(port: int, request: bytes) -> tuple[int, Message, bytes]:
    """Status, headers and body."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as connection:
        connection.sendall(request)
        with connection.makefile("rb") as stream:
            answer = stream.read()
    status, _, rest = answer.partition(b"\r\n")
    headers, _, body = rest.partition(b"\r\n\r\n")
    return int(status.split()[1]), message_from_bytes(headers), body


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n", 501),
        (b"BREW / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403),
        (b"BREW / HTTP/1.1\r\n\r\n", 403),
        (b"GET /\r\n\r\n", 403),
        (b"GET /<b>x</b> and more HTTP/1.1\r\n", 400),
        (b"GET / HTTP/x\r\n", 400),
        (b"GET / HTTP/2.0\r\n", 505),
        (b"GET /" + b"x" * 65_532, 414),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 101, 431),
        (b"GET / HTTP/1.1\r\na: " + b"x" * 65_534, 431),
    ],
)
def test_a_refusal_has_the_headers_of_every_answer_and_one_sentence(
    tmp_path: Path, request_line: bytes, status: int
) -> None:
    with served(stored_study(f"sqlite:///{tmp_path}/studies.db")) as (_, port):
        code, headers, body = reply(port, request_line)
    assert code == status
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert headers["Content-Type"] == "text/plain; charset=utf-8"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert body.startswith(b"This server answers ")
    assert body.endswith(b".\n")
    assert b"<" not in body
