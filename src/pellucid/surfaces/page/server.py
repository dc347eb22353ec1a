"""Shows a live report to browsers on this machine: two fixed addresses, nothing is written, nothing else is read."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from threading import Thread

from pellucid.surfaces.page.live import LiveReport, LiveState
from pellucid.surfaces.page.markup import Markup, joined, tag
from pellucid.words import printable_traceback

_logger = logging.getLogger("pellucid")

_LOOPBACK = "127.0.0.1"
# A site can point a name of its own at this machine and so read the page as if it were its own (DNS rebinding): only
# these names are answered. Their port may be that of a tunnel.
_HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?", re.IGNORECASE)
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
# The page has a policy of its own, which cannot say that no other site may frame it.
_UNFRAMED = "frame-ancestors 'none'"
_PLAIN = f"default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; {_UNFRAMED}"
_FORBIDDEN = "This server answers only to 127.0.0.1 and localhost."
# Seconds: how soon the page that says "Computing" is loaded again; how long a request may take to arrive; and how often
# the server looks whether it should end.
_RELOAD, _PATIENCE, _TICK = 1, 10, 0.1


@contextmanager
def serving(live: LiveReport, port: int) -> Iterator[str]:
    """Serve the report on the loopback interface, and yield its address. Port 0 is any free one.

    Raises OSError if the port cannot be used.
    """
    with _Server(live, port) as server:
        Thread(target=server.serve_forever, args=(_TICK,), name="pellucid server", daemon=True).start()
        try:
            yield f"http://{_LOOPBACK}:{server.server_address[1]}/"
        finally:
            server.shutdown()


class _Server(ThreadingMixIn, TCPServer):
    """Unlike that of `http.server`, it asks no name server for the name of this machine."""

    daemon_threads = True
    # On Windows, this would let two programs listen to one port.
    allow_reuse_address = os.name == "posix"

    def __init__(self, live: LiveReport, port: int) -> None:
        self.live = live
        super().__init__((_LOOPBACK, port), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OSError):  # A browser that leaves is no error.
            _logger.error("A request was not answered.\n%s", printable_traceback(error))


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version, sys_version = "pellucid", ""
    timeout = _PATIENCE

    def do_GET(self) -> None:
        if not self._called_by_its_name():
            self._answer_error(HTTPStatus.FORBIDDEN, _FORBIDDEN)
        elif self.command not in ("GET", "HEAD"):
            self._answer_error(HTTPStatus.METHOD_NOT_ALLOWED, "This server can only be read.")
        elif self.path == "/state":
            self._answer(HTTPStatus.OK, "application/json", json.dumps(_public(self.server.live.state)).encode())
        elif self.path == "/":
            self._answer_page()
        else:
            self._answer_error(HTTPStatus.NOT_FOUND, "There is only one page here: /")

    do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_GET

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what `http.server` does not pass on: a method that it does not know, and requests that are malformed
        or too long, whose host is not known."""
        refused = HTTPStatus(code)
        if refused == HTTPStatus.NOT_IMPLEMENTED and not self._called_by_its_name():
            self._answer_error(HTTPStatus.FORBIDDEN, _FORBIDDEN)
        else:
            self._answer_error(refused, f"This server answers GET and HEAD, but got something else ({refused.phrase}).")

    def _called_by_its_name(self) -> bool:
        hosts = self.headers.get_all("Host", [])
        return len(hosts) == 1 and _HOST.fullmatch(hosts[0]) is not None

    def _answer_page(self) -> None:
        state = self.server.live.state
        if state.page is None:
            html = _waiting(self.server.live.name, state).encode()
            self._answer(HTTPStatus.OK, "text/html; charset=utf-8", html)
        else:
            self._answer(HTTPStatus.OK, "text/html; charset=utf-8", state.page.html, policy=_UNFRAMED)

    def _answer_error(self, code: HTTPStatus, sentence: str) -> None:
        self._answer(code, "text/plain; charset=utf-8", f"{sentence}\n".encode())

    def _answer(self, code: HTTPStatus, kind: str, body: bytes, *, policy: str = _PLAIN) -> None:
        self.request_version = self.protocol_version  # To one without a version, no status and no header would be sent.
        self.send_response(code)
        if code == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET, HEAD")
        own = {"Content-Type": kind, "Content-Length": str(len(body)), "Content-Security-Policy": policy}
        for name, value in {**own, **_HEADERS}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Requests every two seconds are not worth a line each."""


def _public(state: LiveState) -> dict[str, object]:
    """What a page asks for every two seconds. Version 0: there is no page yet. `age` and `computing`, since when the
    next page is being computed, are in milliseconds; `now`: trials of the study, if more have ended than the page
    shows."""
    page, problem, now = state.page, state.problem, int(time.time() * 1000)
    behind = page is not None and state.n_ended > page.n_ended
    return {
        "version": 0 if page is None else page.version,
        "trials": 0 if page is None else page.n_trials,
        "whole": page is not None and page.whole,
        "age": 0 if page is None else max(now - page.read, 0),
        "now": state.n_trials if behind else 0,
        "computing": 0 if state.computing is None else max(now - state.computing, 1),
        "problem": "" if problem is None else problem.sentence,
        "since": 0 if problem is None else problem.since,
    }


def _waiting(name: str, state: LiveState) -> str:
    """The page before the first one: it loads itself again, without a script."""
    sentences = [tag("p", "Computing the report ...")]
    if state.problem is not None:
        since = datetime.fromtimestamp(state.problem.since / 1000).strftime("%H:%M:%S")
        sentences = [tag("p", f"There is no report yet, since {since}: {state.problem.sentence}")]
        sentences.append(tag("p", "The command goes on trying."))
    head = joined(
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="refresh" content="{_RELOAD}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'),
        tag("title", f"{name}: pellucid report"),
    )
    body = joined(tag("h1", name), *sentences)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{body}</body></html>\n'
