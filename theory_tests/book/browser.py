"""A headless Chromium, driven over its debugging protocol: what a reader's browser would say.

Only what the tests need, on tornado's WebSocket client, so that no driver has to be installed.
"""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.request import urlopen

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_SECONDS = 60


def program() -> str | None:
    """Return the path of a browser, if there is one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@dataclass
class Visit:
    """What happened when a page was opened."""

    requests: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class Page:
    """One tab. Commands are answered in order; everything else that arrives is an event."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._number = 0
        self._loop = asyncio.new_event_loop()
        self._visit = Visit()
        self._loaded = False

    def __enter__(self) -> Self:
        from tornado.websocket import websocket_connect

        async def connect() -> Any:
            return await websocket_connect(self._address, max_message_size=2**28)

        self._socket = self._loop.run_until_complete(connect())
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.command(f"{domain}.enable")
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._socket.close()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = json.dumps({"id": self._number, "method": method, "params": parameters})
        return self._loop.run_until_complete(self._answer(message, self._number))

    async def _answer(self, message: str, number: int) -> dict[str, Any]:
        await self._socket.write_message(message)
        while True:
            found = await self._receive()
            if found.get("id") == number:
                if "error" in found:
                    raise RuntimeError(f"{message[:200]}: {found['error']}")
                result: dict[str, Any] = found["result"]
                return result

    async def _receive(self) -> dict[str, Any]:
        text = await asyncio.wait_for(self._socket.read_message(), _SECONDS)
        if text is None:
            raise RuntimeError("the browser closed the connection")
        found: dict[str, Any] = json.loads(text)
        self._note(found.get("method", ""), found.get("params", {}))
        return found

    def _note(self, event: str, found: dict[str, Any]) -> None:
        visit = self._visit
        if event == "Network.requestWillBeSent":
            visit.requests.append(found["request"]["url"])
        elif event == "Network.loadingFailed" and not found.get("canceled"):
            visit.failed.append(found["errorText"])
        elif event == "Network.responseReceived" and found["response"]["status"] >= 400:
            visit.failed.append(f"{found['response']['status']} {found['response']['url']}")
        elif event == "Runtime.exceptionThrown":
            visit.errors.append(str(found["exceptionDetails"].get("exception", {}).get("description")))
        elif event == "Runtime.consoleAPICalled" and found["type"] == "error":
            visit.errors.append(str([a.get("value", a.get("description")) for a in found["args"]]))
        elif event == "Log.entryAdded" and found["entry"]["level"] == "error":
            visit.errors.append(found["entry"]["text"])
        elif event == "Page.loadEventFired":
            self._loaded = True

    def open(self, address: str) -> Visit:
        """Open an address, wait until it and its formulas are there, and say what happened."""
        self._visit, self._loaded = Visit(), False
        self.command("Page.navigate", url=address)

        async def loaded() -> None:
            while not self._loaded:
                await self._receive()

        self._loop.run_until_complete(loaded())
        self.evaluate("(async () => { if (window.MathJax?.startup) await MathJax.startup.promise; await document.fonts.ready; })()")
        return self._visit

    def evaluate(self, expression: str) -> Any:
        """Return the value of JavaScript, waiting for promises."""
        found = self.command("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(f"{expression[:200]}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def resize(self, width: int, height: int = 900) -> None:
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.command("Page.captureScreenshot")["data"]))


@contextmanager
def opened() -> Iterator[Page]:
    """Start a browser that reaches nothing but this machine, with one tab."""
    found = program()
    if found is None:
        raise FileNotFoundError(f"none of {', '.join(NAMES)} is installed")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            "--remote-debugging-port=0",
            f"--user-data-dir={profile}",
            "about:blank",
        ]
        process = subprocess.Popen([found, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with Page(_tab(Path(profile) / "DevToolsActivePort")) as page:
                yield page
        finally:
            process.terminate()
            process.wait(timeout=_SECONDS)


def _tab(port_file: Path) -> str:
    """Return the address of the first tab, once the browser says where it listens."""
    for _ in range(20 * _SECONDS):
        if port_file.exists() and port_file.read_text().strip():
            break
        time.sleep(0.05)
    port = int(port_file.read_text().splitlines()[0])
    with urlopen(f"http://127.0.0.1:{port}/json", timeout=_SECONDS) as answer:
        tabs = json.load(answer)
    return str(next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page"))
