"""The page of `examples/browser` in Chromium tags as `tagger_onnx` does in Python.

    pip install selenium && apt-get install -y npm chromium chromium-driver
    pytest tests/system/test_browser.py

It takes the toy tagger, or one that you name: `TAGGER_ARCHIVE=runs/mine/model.tar.gz
TAGGER_FILE=data/mine/dev.txt`. npm fetches the page's packages.
"""

import functools
import http.server
import os
import random
import shutil
import subprocess
import threading
from typing import ClassVar

import pytest
from allennlp.models import load_archive

import tagger_onnx
from tagger.integrations.onnx.commands.export import export
from tests.conftest import ROOT

webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(
        not all(map(shutil.which, ("npm", "chromium", "chromedriver"))),
        reason="needs npm, chromium and chromedriver",
    ),
]
ARGUMENTS = (
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
NUM_TEXTS = 200
PUNCTUATION = [*" .,;:!?()[]{}'\"-_/@#$%&*+=<>|~`^…—–’“”«»·°²\n\t\u00a0", *[" "] * 20]
STRANGE_WORDS = "http://a.org/x?y=1 me@b.org 10km don't U.S. e.g. :-) 🙂🏽 日本語 ß".split()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    extensions_map: ClassVar = {
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def sentences(trained):
    archive = load_archive(os.environ.get("TAGGER_ARCHIVE", trained / "model.tar.gz"))
    file = os.environ.get("TAGGER_FILE", ROOT / "data/toy/dev.txt")
    read = archive.validation_dataset_reader.read(file)
    return [" ".join(token.text for token in instance["tokens"].tokens) for instance in read]


@pytest.fixture(scope="module")
def page(trained, tmp_path_factory):
    """The folder of the page, with its packages and an exported tagger."""
    folder = tmp_path_factory.mktemp("browser") / "page"
    ignored = shutil.ignore_patterns("node_modules", "*.onnx")
    shutil.copytree(ROOT / "examples/browser", folder, ignore=ignored)
    subprocess.run(["npm", "install", "--no-audit", "--no-fund"], cwd=folder, check=True)
    archive = os.environ.get("TAGGER_ARCHIVE", trained / "model.tar.gz")
    export(load_archive(archive), folder / "tagger.onnx", "en")
    return folder


@pytest.fixture(scope="module")
def server(page):
    handler = functools.partial(QuietHandler, directory=str(page))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def browser(server):
    """Chromium with the page open, whose tagger has been loaded."""
    options = webdriver.ChromeOptions()
    for argument in ARGUMENTS:
        options.add_argument(argument)
    with webdriver.Chrome(
        options, webdriver.ChromeService(shutil.which("chromedriver"))
    ) as browser:
        browser.set_script_timeout(300)
        browser.get(f"http://127.0.0.1:{server.server_port}/index.html")
        wait_until(browser, lambda: not status(browser).startswith("Loading"))
        assert browser.execute_script("return Boolean(globalThis.tagger)"), status(browser)
        yield browser


@pytest.fixture(scope="module")
def run(page):
    return tagger_onnx.load(page / "tagger.onnx")


def status(browser):
    return browser.find_element("id", "status").text


def wait_until(browser, is_true):
    from selenium.webdriver.support.wait import WebDriverWait

    WebDriverWait(browser, 60, 0.1).until(lambda _: is_true())


def random_texts(sentences):
    """Texts of words, punctuation and strange characters."""
    draw = random.Random(0)
    words = [*" ".join(sentences).split(), *STRANGE_WORDS]
    for _ in range(NUM_TEXTS):
        pairs = [(draw.choice(words), draw.choice(PUNCTUATION)) for _ in range(draw.randint(1, 25))]
        yield "".join(part for pair in pairs for part in pair)


def tagged(browser, texts):
    """What the page's tagger gives for texts."""
    script = (
        "const [texts, done] = arguments; const results = [];"
        "(async () => { for (const text of texts) results.push(await tagger.tag(text)) })()"
        ".then(() => done({ results }), (error) => done({ error: String(error) }))"
    )
    answer = browser.execute_async_script(script, list(texts))
    assert "error" not in answer, answer
    return answer["results"]


def assert_same(browser, run, texts):
    for text, found in zip(texts, tagged(browser, texts), strict=True):
        want = run.tag(text, probabilities=True)
        entities = [(each["label"], each["text"]) for each in found["entities"]]
        assert entities == [tuple(each[:2]) for each in want.entities], text
        for name in ("tokens", "tags", "labels"):
            assert found[name] == getattr(want, name), text
        rows = [[row[tag] for tag in row] for row in want.probabilities]
        for expected, row in zip(rows, found["probabilities"], strict=True):
            assert row == pytest.approx(expected, abs=1e-4), text
        for expected, entity in zip(want.entities, found["entities"]):
            assert (entity["probability"] or 0) == pytest.approx(
                expected.probability or 0, abs=1e-4
            )
            # Offsets in the page count units of UTF-16.
            units = text.encode("utf-16-le")[2 * entity["start"] : 2 * entity["end"]]
            assert units.decode("utf-16-le") == entity["text"], text


def test_texts_are_tagged_as_in_python(browser, run, sentences):
    assert_same(browser, run, [*sentences[:NUM_TEXTS], *random_texts(sentences)])


def test_typed_text_is_marked(browser, run, sentences):
    box = browser.find_element("id", "text")
    box.clear()
    box.send_keys(sentences[0])
    wanted = [entity.text for entity in run.tag(sentences[0]).entities]
    marks = "return [...document.querySelectorAll('mark')].map((each) => each.firstChild.data)"
    wait_until(browser, lambda: browser.execute_script(marks) == wanted)


def test_the_page_asks_no_other_machine(browser, server):
    names = "return performance.getEntriesByType('resource').map(({ name }) => name)"
    own = (f"http://127.0.0.1:{server.server_port}", "data:", "blob:")
    assert [name for name in browser.execute_script(names) if not name.startswith(own)] == []


def test_the_page_tags_after_the_server_has_stopped(browser, run, sentences, server):
    server.shutdown()
    server.server_close()
    assert_same(browser, run, sentences[:5])
