#!/usr/bin/env python
"""Tries the page of `examples/browser` in Chromium, with the tagger of an archive.

    python scripts/try_browser.py runs/mine/model.tar.gz data/mine/dev.txt [--texts 200]
        [--screenshots FOLDER]

It needs npm, Chromium and its driver (`apt-get install -y npm chromium chromium-driver`). It installs
the page's packages in a new folder, exports the archive, serves both from this machine, and opens the
page in Chromium without a window. The page must give what the Python package `tagger_onnx` gives for
the file's sentences and for random texts; it must mark what a user types; it must have asked no other
server for anything; and it must go on tagging after the server has stopped. It ends with status 1
otherwise.
"""

import argparse
import base64
import functools
import http.server
import json
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence, cast

from allennlp.data.fields import TextField
from allennlp.models import load_archive

import tagger_onnx
from tagger.commands.export import export

PAGE = Path(__file__).parent.parent / "examples/browser"
CHROMIUM = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # No other machine can be found.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
PUNCTUATION = list(" .,;:!?()[]{}'\"-_/@#$%&*+=<>|~`^…—–’“”«»·°²\n\t\u00a0") + [" "] * 20
SIZES = {"wide": (1440, 900), "narrow": (390, 844)}


class Browser:
    """A page in Chromium, steered over the WebDriver protocol.

    Args:
        driver: The address of a running driver.
        profile: A new folder for Chromium.
        theme: `light` or `dark`.
    """

    def __init__(self, driver: str, profile: str, theme: str = "light") -> None:
        arguments = [*CHROMIUM, f"--user-data-dir={profile}"]
        if theme == "dark":
            arguments.append("--force-dark-mode")
        wanted = {"browserName": "chrome", "goog:chromeOptions": {"args": arguments}}
        self._session = f"{driver}/session"
        made = self.call("", {"capabilities": {"alwaysMatch": wanted}})
        self._session += f"/{made['sessionId']}"
        self.call("/timeouts", {"script": 300_000})

    def call(self, command: str, arguments: Optional[Dict[str, Any]] = None) -> Any:
        """Sends a command, by POST if it has arguments."""
        data = None if arguments is None else json.dumps(arguments).encode()
        request = urllib.request.Request(
            self._session + command, data, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=310) as response:
            return json.load(response)["value"]

    def run(self, script: str, *arguments: Any) -> Any:
        """Runs the body of an asynchronous function in the page; returns what it returns."""
        wrapped = (
            "const [done, ...given] = [arguments[arguments.length - 1], ...arguments];"
            f"(async (...values) => {{ {script} }})(...given.slice(0, -1))"
            ".then((value) => done({ value }), (error) => done({ error: String(error) }))"
        )
        result = self.call("/execute/async", {"script": wrapped, "args": list(arguments)})
        if "error" in result:
            raise RuntimeError(f"the page says: {result['error']}")
        return result.get("value")

    def close(self) -> None:
        """Ends Chromium."""
        request = urllib.request.Request(self._session, method="DELETE")
        urllib.request.urlopen(request, timeout=60).close()


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Tries the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("archive", type=Path)
    parser.add_argument("file", help="a file of sentences that the archive's dataset reader reads")
    parser.add_argument("--texts", type=int, default=200, help="how many of either kind to tag")
    parser.add_argument("--screenshots", type=Path, help="a folder for pictures of the page")
    parser.add_argument("--language", default="en")
    options = parser.parse_args(arguments)
    for program in ("npm", "chromedriver"):
        if not shutil.which(program):
            sys.exit(
                f"{program} is missing; install it: apt-get install -y npm chromium chromium-driver"
            )
    archive = load_archive(options.archive)
    reader = archive.validation_dataset_reader
    sentences = [
        " ".join(token.ensure_text() for token in cast(TextField, instance["tokens"]).tokens)
        for instance in reader.read(options.file)
    ]
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page")
        shutil.copytree(PAGE, page, ignore=shutil.ignore_patterns("node_modules", "*.onnx"))
        subprocess.run(["npm", "install", "--no-audit", "--no-fund"], cwd=page, check=True)
        export(archive, page / "tagger.onnx", options.language)
        run = tagger_onnx.load(page / "tagger.onnx")
        texts = [*sentences[: options.texts], *random_texts(sentences, options.texts)]
        with served(page) as (server, address), driven() as driver:
            browser = Browser(driver, str(Path(folder, "profile")))
            try:
                try_page(browser, address, run, texts, sentences[0])
                if options.screenshots:
                    take_screenshots(browser, options.screenshots, "light")
                server.shutdown()
                server.server_close()
                check(browser, run, texts[:5])
                print("the server has stopped, and the page still tags")
            finally:
                browser.close()
        if options.screenshots:
            with served(page) as (_, address), driven() as driver:
                browser = Browser(driver, str(Path(folder, "dark profile")), "dark")
                try:
                    open_page(browser, address)
                    take_screenshots(browser, options.screenshots, "dark")
                finally:
                    browser.close()


def try_page(browser: Browser, address: str, run: Any, texts: Sequence[str], sentence: str) -> None:
    """Opens the page, tags texts in it, types one, and looks at what it has asked for."""
    status = open_page(browser, address)
    started = time.perf_counter()
    num_entities = check(browser, run, texts)
    seconds = time.perf_counter() - started
    print(
        f"{status}: {len(texts)} texts with {num_entities} entities are tagged as in Python, "
        f"{len(texts) / seconds:.0f} a second"
    )
    (element,) = browser.call("/elements", {"using": "css selector", "value": "#text"})
    (identity,) = element.values()
    browser.call(f"/element/{identity}/clear", {})
    browser.call(f"/element/{identity}/value", {"text": sentence})
    wanted = [entity.text for entity in run.tag(sentence).entities]
    marked: List[str] = []
    for _ in range(100):
        marked = browser.run(
            "return [...document.querySelectorAll('mark')].map((each) => each.firstChild.data)"
        )
        if marked == wanted:
            break
        time.sleep(0.1)
    if marked != wanted:
        sys.exit(f"typed {sentence!r}: expected {wanted} to be marked, got {marked}")
    print(f"typed text is marked: {', '.join(marked)}")
    asked = browser.run("return performance.getEntriesByType('resource').map(({ name }) => name)")
    foreign = [each for each in asked if not each.startswith((address, "data:", "blob:"))]
    if foreign:
        sys.exit(f"the page has asked other servers: {foreign}")
    print(
        f"the page has asked this machine for {len(asked)} files, and no other machine for anything"
    )


def open_page(browser: Browser, address: str) -> str:
    """Opens the page and waits for its tagger; returns what it says of it."""
    browser.call("/url", {"url": f"{address}/index.html"})
    text = ""
    for _ in range(600):
        text = browser.run("return document.getElementById('status').textContent")
        if not text.startswith("Loading"):
            break
        time.sleep(0.1)
    if not browser.run("return Boolean(globalThis.tagger)"):
        sys.exit(f"the page did not load its tagger: {text}")
    return text


def check(browser: Browser, run: Any, texts: Sequence[str]) -> int:
    """Tags texts in the page and in Python; returns the number of entities, which are equal."""
    script = (
        "const results = []; for (const text of values[0]) results.push(await tagger.tag(text));"
        "return results"
    )
    num_entities = 0
    for text, found in zip(texts, browser.run(script, list(texts))):
        want = run.tag(text, probabilities=True)
        rows = [[row[tag] for tag in row] for row in want.probabilities]
        expected = [want.tokens, want.tags, want.labels, [list(each[:2]) for each in want.entities]]
        entities = [[each["label"], each["text"]] for each in found["entities"]]
        if [found["tokens"], found["tags"], found["labels"], entities] != expected:
            sys.exit(f"{text!r} differs:\n  Python {expected}\n  page   {found}")
        pairs = [(a, b) for x, y in zip(rows, found["probabilities"]) for a, b in zip(x, y)]
        pairs += [
            (a.probability or 0, b["probability"] or 0)
            for a, b in zip(want.entities, found["entities"])
        ]
        largest = max((abs(a - b) for a, b in pairs), default=0)
        if not largest < 1e-4:
            sys.exit(f"{text!r}: a probability differs by {largest}")
        for entity in found["entities"]:
            # Offsets in the page count units of UTF-16.
            units = text.encode("utf-16-le")[2 * entity["start"] : 2 * entity["end"]]
            assert units.decode("utf-16-le") == entity["text"], (text, entity)
        num_entities += len(entities)
    return num_entities


def random_texts(sentences: Sequence[str], number: int) -> List[str]:
    """Texts of words, punctuation and strange characters."""
    draw = random.Random(0)
    words = " ".join(sentences).split()
    words += [
        "http://a.org/x?y=1",
        "me@b.org",
        "10km",
        "don't",
        "U.S.",
        "e.g.",
        ":-)",
        "🙂🏽",
        "日本語",
        "ß",
    ]
    return [
        "".join(
            part
            for _ in range(draw.randint(1, 25))
            for part in (draw.choice(words), draw.choice(PUNCTUATION))
        )
        for _ in range(number)
    ]


def take_screenshots(browser: Browser, folder: Path, theme: str) -> None:
    """Writes pictures of the page at several sizes."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (width, height) in SIZES.items():
        # A window is not made as narrow as a telephone, but its screen can be.
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        for command, values in (
            ("Emulation.setDeviceMetricsOverride", metrics),
            (
                "Emulation.setEmulatedMedia",
                {"features": [{"name": "prefers-color-scheme", "value": theme}]},
            ),
        ):
            browser.call("/goog/cdp/execute", {"cmd": command, "params": values})
        time.sleep(0.3)
        picture = folder / f"{name}_{theme}.png"
        picture.write_bytes(base64.b64decode(browser.call("/screenshot")))
        print(f"Wrote {picture}")


@contextmanager
def served(folder: Path) -> Iterator[Any]:
    """Serves a folder on this machine; gives the server and its address."""
    handler = functools.partial(_QuietHandler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.server_close()


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }

    def log_message(self, *arguments: Any) -> None:
        """Prints nothing."""


@contextmanager
def driven() -> Iterator[str]:
    """Starts Chromium's driver; gives its address."""
    driver = subprocess.Popen(
        ["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True, stderr=subprocess.STDOUT
    )
    try:
        assert driver.stdout is not None
        for line in driver.stdout:
            if "started successfully on port" in line:
                port = line.rstrip(".\n ").rpartition(" ")[2]
                break
        else:
            sys.exit("chromedriver does not start")
        yield f"http://127.0.0.1:{port}"
    finally:
        driver.terminate()
        driver.wait()


if __name__ == "__main__":
    main()
