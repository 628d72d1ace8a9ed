"""The project's pages in Chromium give the same results as Python.

    apt-get install -y npm chromium chromium-driver && pip install selenium
    pytest tests/system/test_pages.py

They use the toy tagger, or the one given by `TAGGER_ARCHIVE=runs/mine/model.tar.gz
TAGGER_FILE=data/mine/dev.txt`. `TAGGER_SCREENSHOTS=FOLDER` saves screenshots of the service's page. npm
downloads the packages of `examples/browser`.
"""

import functools
import html
import http.server
import json
import os
import random
import re
import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from allennlp.models import load_archive

import tagger
import tagger_onnx
from tagger.data.formats import read_texts
from tagger.data.sources.joining import join_sources
from tagger.integrations.onnx.commands.export import export
from tagger.tools.labels.corpus import Corpus
from tagger.tools.labels.errors import ErrorProbabilities
from tagger.tools.labels.issues import accept, list_issues, read_decisions, write_issues
from tagger.tools.labels.probabilities import Item
from tagger.tools.sources.agreement import ComparedSources
from tagger.tools.sources.disagreements import write_disagreements
from tagger_texts.display import spell_probability
from tests.conftest import ROOT
from tests.integrations.service.running_service import running_service
from tests.system.chromium import FLAGS, chromium, loaded_from_elsewhere, needs, wait_until

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("time_limit")]
#: WebDriver's code for the key.
ARROW_RIGHT = "\ue014"
#: Several kinds of taggers find entities in at least one of them.
TEXTS = [
    "Maria Lindqvist met Paulo Ferraz in Lisbon.",
    "1600 Pennsylvania Avenue NW, Washington, DC",
    "the University of Rome won",
]
#: Names, widths and heights of screens in pixels.
SCREENS = {"desktop": (1440, 900), "phone": (390, 844)}
#: A script injection. The first character has two code units in a browser and one in Python.
HOSTILE = "\U0001f600 <img src=x onerror=\"document.title='broken'\"> "


@needs("chromium", "chromedriver")
def test_the_services_page_shows_what_the_tagger_gives_on_every_screen(archive_file, tmp_path):
    folder = Path(os.environ.get("TAGGER_SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    model = tagger.load(archive_file)
    text = next(text for text in TEXTS if model.tag(text).entities)
    with running_service(archive_file) as service:
        for scheme in ("light", "dark"):
            for screen, size in SCREENS.items():
                with chromium(size, scheme) as browser:
                    Page(browser, service.url, model).try_all(text)
                    for name, part in {"text": 0, "dials": 500}.items():
                        browser.execute_script(f"scrollTo(0, {part})")
                        time.sleep(0.2)
                        browser.save_screenshot(str(folder / f"{screen}_{scheme}_{name}.png"))


class Page:
    """The page of a service in a browser, to be compared with a model."""

    def __init__(self, browser, url, model):
        self._browser, self._url, self._model = browser, url, model
        self._run = browser.execute_script

    def try_all(self, text):
        """Checks every feature of the page on a text."""
        self._browser.get(self._url)
        labels = (
            "return [...document.querySelectorAll('.dial')].map(({ dataset }) => dataset.label)"
        )
        wait_until(lambda: self._model.biases.keys() == set(self._run(labels)))
        self._type(text)
        self._expect(text, {})
        self._check_folding(text)
        label = self._model.tag(text).entities[0].label
        self._turn(label, -12)
        self._expect(text, {label: -12})
        self._slider(label).send_keys(ARROW_RIGHT)
        self._expect(text, {label: -11.75})
        self._turn(label, 6)
        self._expect(text, {label: 6})
        self._find(f'[data-label="{label}"] .reset').click()
        self._expect(text, {})
        self._type(f"{HOSTILE}{text}\n{text}")
        self._expect(f"{HOSTILE}{text}", {}, others=[text])
        self._type("x" * 600)
        wait_until(lambda: "500 long" in self._find("#problem").text)
        self._type(text)
        self._expect(text, {})
        assert not self._find("#problem").is_displayed()
        self._turn(label, 1.5)
        self._expect(text, {label: 1.5})
        self._check_surroundings()

    def _check_folding(self, text):
        """With many labels, only the controls of labels in the text are shown, and all on demand."""
        shown = "return [...document.querySelectorAll('.dial:not([hidden])')].length"
        labels = self._model.biases
        found = {entity.label for entity in self._model.tag(text).entities}
        assert self._run(shown) == len(labels if len(labels) <= 8 else found)
        if len(labels) > 8:
            for number in (len(labels), len(found)):
                self._find("#show-all").click()
                assert self._run(shown) == number

    def _expect(self, text, biases, others=()):
        tagged = self._model.with_bias(biases).tag([text, *others])
        wanted = (
            [each.text[a:b] for each in tagged for a, b, inside in each._segments() if inside],
            sorted(
                (entity.label, spell_probability(entity.probability))
                for each in tagged
                for entity in each.entities
            ),
        )
        wait_until(lambda: self._marks() == wanted, lambda: f"{self._marks()}, not {wanted}")

    def _marks(self):
        """The marked pieces of text, and the labels and probabilities that are shown, sorted."""
        pieces, names = self._run(
            "const bare = (mark) => { const copy = mark.cloneNode(true); "
            "copy.querySelectorAll('small').forEach((each) => each.remove()); "
            "return copy.textContent; }; "
            "return [[...document.querySelectorAll('mark:not(mark mark)')].map(bare), "
            "[...document.querySelectorAll('mark > small')].map((small) => "
            "[small.querySelector('b').textContent, small.lastChild.data.trim()])]"
        )
        return pieces, sorted(tuple(name) for name in names)

    def _check_surroundings(self):
        width, scroll = self._run("return [innerWidth, document.documentElement.scrollWidth]")
        assert scroll <= width, f"the page is {scroll} pixels wide on a screen of {width}"
        assert self._browser.title != "broken", "a text was run as a script"
        assert loaded_from_elsewhere(self._browser, "nowhere"), "the page must ask the service"
        assert loaded_from_elsewhere(self._browser, f"{self._url}/") == []
        log = self._browser.get_log("browser")
        assert [entry for entry in log if "413" not in entry["message"]] == []
        unnamed = self._run(
            "return [...document.querySelectorAll('input, textarea, button')].filter((each) => "
            "!each.labels?.length && !each.ariaLabel && !each.textContent).length"
        )
        assert unnamed == 0, f"{unnamed} controls have no name for screen readers"

    def _type(self, text):
        # Key presses cannot produce characters outside the basic multilingual plane.
        self._set(self._find("#text"), text)

    def _turn(self, label, bias):
        self._set(self._slider(label), bias)

    def _set(self, control, value):
        script = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))"
        self._run(script, control, value)

    def _slider(self, label):
        return self._find(f'[data-label="{label}"] input')

    def _find(self, selector):
        return self._browser.find_element("css selector", selector)


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
def sentences(archive_file):
    file = os.environ.get("TAGGER_FILE", ROOT / "data/toy/dev.txt")
    read = load_archive(archive_file).validation_dataset_reader.read(file)
    return [" ".join(token.text for token in instance["tokens"].tokens) for instance in read]


@pytest.fixture(scope="module")
def page(archive_file, tmp_path_factory):
    """The folder of the page in `examples/browser`, with its packages and an exported tagger."""
    folder = tmp_path_factory.mktemp("browser") / "page"
    ignored = shutil.ignore_patterns("node_modules", "*.onnx")
    shutil.copytree(ROOT / "examples/browser", folder, ignore=ignored)
    subprocess.run(["npm", "install", "--no-audit", "--no-fund"], cwd=folder, check=True)
    export(load_archive(archive_file), folder / "tagger.onnx", "en")
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
    """Chromium with the page open and its tagger loaded."""
    with chromium() as browser:
        browser.get(f"http://127.0.0.1:{server.server_port}/index.html")
        status = browser.find_element("id", "status")
        wait_until(lambda: not status.text.startswith("Loading"), seconds=60)
        assert browser.execute_script("return Boolean(globalThis.tagger)"), status.text
        yield browser


def random_texts(sentences):
    """Texts of words, punctuation and strange characters."""
    draw = random.Random(0)
    words = [*" ".join(sentences).split(), *STRANGE_WORDS]
    for _ in range(NUM_TEXTS):
        pairs = [(draw.choice(words), draw.choice(PUNCTUATION)) for _ in range(draw.randint(1, 25))]
        yield "".join(part for pair in pairs for part in pair)


def assert_same(browser, run, texts):
    """The page's tagger and the exported tagger in Python give the same for texts."""
    script = (
        "const [texts, done] = arguments; const results = [];"
        "(async () => { for (const text of texts) results.push(await tagger.tag(text)) })()"
        ".then(() => done({ results }), (error) => done({ error: String(error) }))"
    )
    answer = browser.execute_async_script(script, list(texts))
    assert "error" not in answer, answer
    for text, found in zip(texts, answer["results"], strict=True):
        want = run.tag(text, probabilities=True)
        entities = [(each["label"], each["text"]) for each in found["entities"]]
        assert entities == [tuple(each[:2]) for each in want.entities], text
        for name in ("tokens", "tags", "labels"):
            assert found[name] == getattr(want, name), text
        rows = [[row[tag] for tag in row] for row in want.probabilities]
        for expected, row in zip(rows, found["probabilities"], strict=True):
            # With a chain for each label, `O` has no probability.
            assert [number for number in row if number is not None] == pytest.approx(
                expected, abs=1e-4
            ), text
        for expected, entity in zip(want.entities, found["entities"]):
            probability = pytest.approx(expected.probability or 0, abs=1e-4)
            assert (entity["probability"] or 0) == probability
            # Offsets in the page count UTF-16 code units.
            units = text.encode("utf-16-le")[2 * entity["start"] : 2 * entity["end"]]
            assert units.decode("utf-16-le") == entity["text"], text


@needs("npm", "chromium", "chromedriver")
def test_the_page_without_a_service_tags_like_python_without_any_request(
    browser, page, sentences, server
):
    run = tagger_onnx.load(page / "tagger.onnx")
    assert_same(browser, run, [*sentences[:NUM_TEXTS], *random_texts(sentences)])
    # Typed text is marked.
    box = browser.find_element("id", "text")
    box.clear()
    box.send_keys(sentences[0])
    wanted = [sentences[0][a:b] for a, b, inside in run.tag(sentences[0])._segments() if inside]
    marks = "return [...document.querySelectorAll('mark')].map((each) => each.firstChild.data)"
    wait_until(lambda: browser.execute_script(marks) == wanted, seconds=60)
    own = (f"http://127.0.0.1:{server.server_port}", "data:", "blob:")
    assert loaded_from_elsewhere(browser, own) == []
    # It works even after the server has stopped.
    server.shutdown()
    server.server_close()
    assert_same(browser, run, sentences[:5])


# Presses keys, then writes what would be saved into the page.
SCRIPT = """<script>
var saved = [], make = URL.createObjectURL;
URL.createObjectURL = function (blob) { saved.push(blob); return make(blob); };
"%s".split("").forEach(function (key) {
  document.dispatchEvent(new KeyboardEvent("keydown", {key: key}));
});
document.querySelectorAll(".bar button").forEach(function (button) { button.click(); });
Promise.all(saved.map(function (blob) { return blob.text(); })).then(function (texts) {
  var output = document.createElement("pre");
  output.id = "saved";
  output.textContent = JSON.stringify(texts);
  document.body.appendChild(output);
});
</script>"""


def saved_after(keys, page, folder):
    """Presses keys on a page, and returns what its buttons save."""
    page.write_text(page.read_text().replace("</body>", SCRIPT % keys + "</body>"))
    options = [f"--user-data-dir={folder / 'chromium'}", "--virtual-time-budget=5000"]
    command = ["chromium", *FLAGS, "--dump-dom", *options, page.as_uri()]
    lines = []
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **streams) as process:
        for line in process.stdout:
            lines.append(line)
            if "</html>" in line:  # Sometimes Chromium writes the page and does not end.
                break
        process.kill()
    written = "".join(lines)
    (texts,) = re.findall(r'<pre id="saved">(.*?)</pre>', written, re.DOTALL)
    return json.loads(html.unescape(texts))


@needs("chromium")
@pytest.mark.parametrize(
    ("keys", "accepted"), [("aaaa", [1, 2, 3, 4]), ("araka", [1, 3]), ("jaku", []), ("rrra", [4])]
)
def test_keys_on_the_label_error_page_decide_what_python_accepts(tmp_path, keys, accepted):
    (tmp_path / "corpus.txt").write_text("-DOCSTART- O\n\nA<b> B-X\nc I-X\nd O\n\n</script> B-Y\n")
    corpus = Corpus(tmp_path / "corpus.txt", {})
    items = [
        Item(0, ("X", (0, 1)), ("Y", (0, 1)), 0.1, 0.9, 0.9),
        Item(0, ("X", (0, 1)), ("X", (0, 2)), 0.2, 0.8, 0.9),
        Item(0, None, ("Y", (2, 2)), 0.3, 0.7, 0.7),
        Item(1, ("Y", (0, 0)), None, 0.4, 0.6, 0.4),
    ]
    probabilities = ErrorProbabilities(items, np.array([0.9, 0.8, 0.7, 0.6]), np.array([0.9, 0.6]))
    findings = list_issues(corpus, probabilities, 0.0)
    page = write_issues(corpus, probabilities, findings, tmp_path)[0]
    corrected, decisions = saved_after(keys, page, tmp_path)
    assert json.loads(decisions)["accepted"] == accepted
    (tmp_path / "decisions.json").write_text(decisions)
    chosen = read_decisions(tmp_path / "decisions.json", corpus, findings)
    assert corrected == "\n".join(accept(corpus.lines(), chosen)) + "\n"


@needs("chromium")
@pytest.mark.parametrize(
    ("keys", "entities", "is_open"),
    [
        ("12", [(2, 5, "X"), (12, 16, "Z")], []),
        ("2ju", [(2, 5, "Y"), (12, 16, "Z")], [[6, 11]]),
        ("91k11", [(2, 5, "X"), (6, 11, "X"), (12, 16, "Z")], []),
    ],
)
def test_keys_on_the_page_of_agreement_decide_what_a_tagger_learns(
    tmp_path, keys, entities, is_open
):
    ada = {"a": [[2, 5, "X"], [6, 11, "X"]], "b": [[2, 5, "Y"]]}
    for own in ada.values():
        own.append([12, 16, "Z"])
    text = {"text": "\U0001f600 Ada </b>x <i>y ", "annotations": ada}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(text), encoding="utf-8")
    folder = tmp_path / "agreement"
    folder.mkdir()
    compared = ComparedSources(join_sources([str(path)]))
    write_disagreements(compared, compared.of_all(), [], ["<b>note</b>"], folder)
    (saved,) = saved_after(keys, folder / "agreement.html", tmp_path)
    (tmp_path / "decided.jsonl").write_text(saved, encoding="utf-8")
    (read,) = read_texts(tmp_path / "decided.jsonl")
    assert [(*each[1:], each[0]) for each in read.entities] == entities
    assert read.properties.get("tagger_open", []) == is_open
