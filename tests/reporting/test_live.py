"""The report that renews itself: a real browser beside a study that other processes write to."""

from __future__ import annotations

import json
import os
import pty
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import optuna
import pytest
from tests.browser import Browser, in_a_browser
from tests.helpers import STUDY, bowl, finish, start_worker
from tests.reporting.served import (
    LINE,
    PATIENCE_S,
    READY,
    answer,
    impatient,
    locked,
    port_of,
    served,
    state,
    stored_study,
    wait_for,
    watching,
)
from typer.testing import CliRunner, Result

from pellucid.surfaces.cli.app import app
from pellucid.surfaces.cli.serving import DEFAULT_PORT, sentence_about
from pellucid.surfaces.cli.storage.places import place_of
from pellucid.surfaces.cli.storage.studies import find_study
from pellucid.surfaces.page.live import LiveReport

# A text field, something to open and a space that grows with every page, above everything else and before the scripts.
ADDED = """
new MutationObserver((_, observer) => {
  const header = document.querySelector('header > nav')?.parentElement;
  if (header) {
    observer.disconnect();
    sessionStorage.height = Number(sessionStorage.height || 0) + 40;
    header.insertAdjacentHTML('beforeend', '<input id="field"><details id="more"><summary>more</summary></details>' +
      `<div style="height: ${sessionStorage.height}px"></div>`);
  }
}).observe(document, { childList: true, subtree: true });
"""


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/studies.db"


# ---------------------------------------------------------------------- in a browser


@contextmanager
def command(url: str, *options: str, terminal: int | None = None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`pellucid report --serve` in a process of its own, and the address that it printed."""
    program = [sys.executable, "-m", "pellucid.cli", "report", "--storage", url, "--serve", *options]
    errors = subprocess.PIPE if terminal is None else terminal
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert "renews itself; Ctrl-C ends it." in said, said
        yield process, said.partition(" is at ")[2].partition(" ")[0]
    finally:
        process.kill()
        process.communicate()


@in_a_browser
def test_a_page_renews_itself_and_the_reader_loses_nothing(url: str, tmp_path: Path) -> None:
    study = stored_study(url)
    with command(url, "--port", "0") as (process, address), Browser(tmp_path) as browser:
        browser.on_every_page(ADDED)
        browser.hurry()
        browser.open_address(address)
        browser.wait(f"{LINE}.match(/Live: computed [0-9]+ s ago from 0 trials[.]/)")
        assert "The study has no trials yet" in browser.run("document.body.innerText")

        finish(start_worker(url, "bowl", 9, "--startup", "99"))
        browser.wait(f"{READY} && {LINE}.includes('ago from 9 trials.')")
        assert browser.run("document.documentElement.dataset.theme") == "light"
        browser.run("document.querySelector('#theme').click()")
        browser.run("document.querySelector('#trial').value = '3'")
        browser.run("document.querySelector('#trial').dispatchEvent(new Event('change'))")
        browser.run("document.querySelector('#more').open = true")
        browser.run("document.querySelector('#field').focus()")
        browser.write("rate")
        browser.run("document.querySelector('#effects').scrollIntoView(), window.scrollBy(0, 25)")
        top = browser.run("document.querySelector('#effects').getBoundingClientRect().top")
        assert browser.run("window.scrollY") > 500

        study.optimize(bowl, n_trials=1)
        browser.wait(f"{READY} && {LINE}.includes('ago from 10 trials.')")
        assert browser.run("document.documentElement.dataset.theme") == "dark"
        assert browser.run("document.querySelector('#trial').value") == "3"
        assert "rial 3" in browser.run("document.querySelector('#trial-words').innerText")
        assert browser.run("document.querySelector('#more').open") is True
        assert browser.run("document.querySelector('#field').value") == "rate"
        assert browser.run("document.activeElement.id") == "field"
        assert browser.run("document.querySelector('#effects').getBoundingClientRect().top") == pytest.approx(
            top, abs=2
        )
        assert browser.messages == []
        assert [u for u in browser.requests if not u.startswith((address, "data:", "blob:"))] == []

        process.kill()
        browser.wait(f"{LINE} === 'Not live any more: the command has ended; this page stays as it is.'")
        assert browser.run("document.querySelector('#trial').options.length") == 10


def hide(browser: Browser, hidden: bool) -> None:
    """What a page notices when its tab goes to the background: a browser without windows keeps all tabs in front."""
    browser.run(f"Object.defineProperty(document, 'hidden', {{ configurable: true, value: {json.dumps(hidden)} }}), 0")
    browser.run("document.dispatchEvent(new Event('visibilitychange'))")


@in_a_browser
def test_a_page_waits_for_its_reader_and_tells_about_problems(url: str, tmp_path: Path) -> None:
    study = stored_study(url)
    with served(impatient(url)) as (live, port), watching(live), Browser(tmp_path) as browser:
        browser.hurry()
        browser.on_every_page("window.loads = sessionStorage.loads = Number(sessionStorage.loads || 0) + 1")
        browser.open_address(f"http://localhost:{port}/")
        browser.wait(f"{LINE}.includes('ago from 0 trials.')")
        loads = browser.run("loads")

        browser.run("getSelection().selectAllChildren(document.querySelector('h1'))")
        study.optimize(bowl, n_trials=1)
        browser.wait(f"{LINE}.includes('a page with 1 trial is waiting until you have finished')")
        assert browser.run("loads") == loads
        browser.run("getSelection().removeAllRanges()")
        browser.wait(f"{READY} && {LINE}.includes('ago from 1 trial.')")
        assert browser.run("loads") == loads + 1

        hide(browser, True)
        asked = browser.requests.count(f"http://localhost:{port}/state")
        time.sleep(1.2)  # It would ask every half second.
        assert browser.run("document.hidden") is True
        assert browser.requests.count(f"http://localhost:{port}/state") == asked
        hide(browser, False)

        browser.run("document.querySelector('#pause').click()")
        study.optimize(bowl, n_trials=1)
        browser.wait(f"{LINE}.includes('Paused: a page with 2 trials is waiting. Go on')")
        assert browser.run("loads") == loads + 1
        with locked(url):
            browser.wait(f"{LINE}.includes('It failed: StorageInternalError. The command goes on trying.')")
            assert state(port)["since"] > state(port)["version"]
        browser.run("document.querySelector('#pause').click()")
        browser.wait(f"{READY} && {LINE}.includes('ago from 2 trials.')")
        browser.wait(f"!{LINE}.includes('Not renewed')")
        assert browser.run("loads") == loads + 2
        assert browser.messages == []


# ---------------------------------------------------------------------- the server


def test_only_names_of_this_machine_are_answered() -> None:
    with served(optuna.create_study()) as (_, port):
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", "LOCALHOST", "[::1]:9000"):
            assert answer(port, "/", host)[0].status == 200
        for hosts in (
            ["rebound.example"],
            [f"rebound.example:{port}"],
            ["localhost.example"],
            ["localhost", "a"],
            [""],
        ):
            response, text = answer(port, "/", *hosts)
            assert response.status == 403
            assert text == b"This server answers only to 127.0.0.1 and localhost.\n"


def test_there_are_two_addresses_which_can_only_be_read() -> None:
    with served(optuna.create_study(study_name="<b>bold")) as (_, port):
        page, text = answer(port)
        assert page.status == 200
        assert b"Computing the report ..." in text
        assert b'<meta http-equiv="refresh" content="1">' in text
        assert b"&lt;b&gt;bold" in text
        assert page.headers["Cache-Control"] == "no-store"
        assert page.headers["Content-Security-Policy"].endswith("frame-ancestors 'none'")
        assert "Access-Control-Allow-Origin" not in page.headers
        nothing_yet = {"version": 0, "trials": 0, "whole": False, "age": 0, "now": 0, "computing": 0}
        assert state(port) == {**nothing_yet, "problem": "", "since": 0}
        head, nothing = answer(port, method="HEAD")
        assert (head.status, head.headers["Content-Length"], nothing) == (200, str(len(text)), b"")
        for path in ("/index.html", "/../", "/state/", "/?a", "http://localhost/"):
            assert answer(port, path)[0].status == 404
        for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
            refused = answer(port, method=method)[0]
            assert (refused.status, refused.headers["Allow"]) == (405, "GET, HEAD")
        assert answer(port, method="TRACE")[0].status == 501


def test_other_machines_cannot_connect() -> None:
    """127.0.0.2 is this machine too, like the address of a network card, and the server does not listen to it."""
    with served(optuna.create_study()) as (_, port), pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", port), timeout=PATIENCE_S)


def test_a_browser_that_leaves_is_no_error(capfd: pytest.CaptureFixture[str]) -> None:
    with served(optuna.create_study()) as (_, port):
        for sent in (b"", b"GET /", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\0\xff\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(sent)
        assert answer(port)[0].status == 200
    assert capfd.readouterr().err == ""


def test_a_storage_that_cannot_be_read_at_first_is_tried_again(url: str) -> None:
    stored_study(url)
    with served(impatient(url)) as (live, port), ExitStack() as stack:
        with locked(url):
            stack.enter_context(watching(live))
            wait_for(lambda: state(port)["problem"])
            text = answer(port)[1].decode()
            assert "There is no report yet, since " in text
            assert "It failed: StorageInternalError." in text
            assert "The command goes on trying." in text
        wait_for(lambda: state(port)["version"])
        assert state(port)["problem"] == ""
        assert "The study has no trials yet" in answer(port)[1].decode()


def test_a_deleted_study_is_said_to_be_gone(url: str) -> None:
    place = place_of(url)
    study = find_study(place, stored_study(url).study_name)
    live = LiveReport(study, lambda error: sentence_about(error, place))
    with watching(live):
        wait_for(lambda: live.state.page)
        optuna.delete_study(study_name=STUDY, storage=url)
        wait_for(lambda: live.state.problem)
    assert live.state.page is not None
    assert live.state.problem is not None
    assert "if it was deleted, end this command with Ctrl-C." in live.state.problem.sentence


# ---------------------------------------------------------------------- the command


@pytest.fixture
def busy_port() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["report", *arguments])


def test_mistakes_are_sentences(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, busy_port: int) -> None:
    monkeypatch.chdir(tmp_path)
    stored_study(url)
    optuna.create_study(study_name="many", storage=url, directions=["minimize"] * 5)
    before = sorted(tmp_path.iterdir())
    for arguments, sentence in [
        ([STUDY, "--serve", "--port", str(busy_port)], f"{busy_port} cannot be used (Address already in use): choose"),
        ([STUDY, "--serve", "--out", "a.html"], "--serve writes no file, but --out names `a.html`: leave one of them"),
        ([STUDY, "--port", "8000"], "--port is the port of --serve, which is missing; got 8000"),
        (["stdy", "--serve"], "Did you mean `study`?"),
        (["many", "--serve"], "A report is about up to 4 objectives, but this study has 5"),
        ([STUDY, "--serve", "--port", "65536"], "less than or equal to 65535"),
    ]:
        result = call(*arguments, "--storage", url)
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        assert sentence in " ".join(result.stderr.split())
    assert sorted(tmp_path.iterdir()) == before


@contextmanager
def default_port_taken() -> Iterator[None]:
    with socket.socket() as taken:
        with suppress(OSError):  # Another program has it: it is taken all the same.
            taken.bind(("127.0.0.1", DEFAULT_PORT))
            taken.listen()
        yield


def test_without_a_port_a_free_one_is_chosen_unless_nobody_would_know_it(url: str) -> None:
    stored_study(url)
    with default_port_taken():
        with command(url) as (process, address):
            port = port_of(address)
            assert port != DEFAULT_PORT
            assert answer(port)[0].status == 200
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_S) == 0
        result = call("--serve", "--quiet", "--storage", url)
        assert result.exit_code == 2
        assert f"{DEFAULT_PORT} cannot be used (Address already in use): choose another with --port." in result.stderr


def test_ctrl_c_ends_a_computation(url: str) -> None:
    study = stored_study(url)
    study.optimize(bowl, n_trials=20)
    with command(url, "--port", "0") as (process, _):
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_sigterm_ends_the_command_and_a_terminal_has_one_line(url: str) -> None:
    stored_study(url)
    ours, theirs = pty.openpty()
    with command(url, "--port", "0", terminal=theirs) as (process, _):
        os.close(theirs)
        shown = b""
        while b"The page shows 0 trials, renewed " not in shown:
            shown += os.read(ours, 1 << 16)
        assert b"Computing the report ..." in shown
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
    os.close(ours)
