"""A real Chromium for tests, driven through pipes: open a page, inspect it, press keys, take pictures."""

from __future__ import annotations

import base64
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pellucid.answers.drawing import browser as program

_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
          "--hide-scrollbars", "--disable-component-update", "--disable-default-apps", "--disable-sync")  # fmt: skip

Test = TypeVar("Test", bound=Callable[..., None])
NEEDS_BROWSER = pytest.mark.skipif(
    program() is None, reason="no Chromium here: `apt-get install chromium`, or set $CHROMIUM"
)


def in_a_browser(test: Test) -> Test:
    """A test that looks at a page: `make test-pages` runs it."""
    marked: Test = pytest.mark.pages(NEEDS_BROWSER(test))
    return marked


# The browser reads commands on descriptor 3 and answers on 4; both may be in use for the other one.
_PLACE_PIPES = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(pipe), fcntl.F_DUPFD, 10) for pipe in sys.argv[1:3])
os.dup2(read, 3)
os.dup2(write, 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page in one browser. `messages`: all that it said on its console; `requests`: all addresses it requested."""

    def __init__(self, folder: Path, width: int = 1280, height: int = 900, *, dark: bool = False) -> None:
        name = program()
        assert name is not None
        to_browser, from_us = os.pipe()
        from_browser, to_us = os.pipe()
        command = [name, *_FLAGS, "--remote-debugging-pipe", f"--user-data-dir={folder}/profile"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PLACE_PIPES, str(to_browser), str(to_us), *command],
            pass_fds=(to_browser, to_us), start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser)
        os.close(to_us)
        self._out, self._in = from_us, from_browser
        self._buffer, self._count, self._session = b"", 0, None
        self.messages: list[str] = []
        self.requests: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{part}.enable")
        self.show(width, height, dark=dark)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)  # Its child processes too, which would go on writing their files.
        self._process.wait()
        os.close(self._out)
        os.close(self._in)

    def show(self, width: int = 1280, height: int = 900, *, dark: bool = False) -> None:
        """The size of the window and the colours that its user prefers."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, path: Path, fragment: str = "") -> None:
        """A report."""
        self.open_address(path.resolve().as_uri() + fragment)

    def on_every_page(self, script: str) -> None:
        """Run a script at the beginning of every page from now on."""
        self._call("Page.addScriptToEvaluateOnNewDocument", source=script)

    def hurry(self) -> None:
        """Let the clock and the timers of every page from now on run four times as fast, so that tests wait less."""
        self.on_every_page("""
            const wait = window.setTimeout.bind(window), now = performance.now.bind(performance);
            window.setTimeout = (call, time = 0, ...rest) => wait(call, time / 4, ...rest);
            performance.now = () => 4 * now();
        """)

    def open_address(self, address: str) -> None:
        """A report that is served."""
        self._call("Page.navigate", url=address)
        self.wait("document.body && document.body.dataset.ready === 'yes'")

    def visit(self, address: str) -> None:
        """Any page, up to the end of its loading."""
        self.run("window.isBefore = true")  # The page before may still answer, and it is complete.
        self._call("Page.navigate", url=address)
        self.wait("!window.isBefore && document.readyState === 'complete'")

    def wait(self, condition: str, seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while not self.run(condition):
            assert time.monotonic() < end, f"{condition} did not come true; the page said {self.messages}"
            time.sleep(0.05)

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def click(self, selector: str) -> None:
        """Click on the first element of a kind, as a mouse does."""
        self.run(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})")
        box = self.run(
            f"(e => [e.left + e.width / 2, e.top + e.height / 2])(document.querySelector({json.dumps(selector)})"
            ".getBoundingClientRect())"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def allow_clipboard(self) -> None:
        """Let the page read the clipboard; writing to it on a click is allowed anyway."""
        session, self._session = self._session, None
        self._call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        self._session = session

    def press(self, key: str) -> None:
        code = {"Tab": 9, "ArrowDown": 40, "ArrowUp": 38, "Enter": 13}[key]
        for kind in ("keyDown", "keyUp"):
            extra = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self._call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **extra)

    def write(self, text: str) -> None:
        """Type into the element that has the focus."""
        self._call("Input.insertText", text=text)

    def picture(self, path: Path, *, whole: bool = False) -> None:
        answer = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def print(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._call("Page.printToPDF")["data"]))

    def _call(self, method: str, **params: Any) -> Any:
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._count:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], 60.0)
            assert ready, "the browser does not answer"
            part = os.read(self._in, 1 << 20)
            assert part, "the browser has ended"
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.messages.append(json.dumps(params["exceptionDetails"])[:500])
        elif method == "Log.entryAdded":
            self.messages.append(f"{params['entry']['level']}: {params['entry']['text']}")
        elif method == "Runtime.consoleAPICalled":
            self.messages.append(f"{params['type']}: {json.dumps(params['args'])[:500]}")
