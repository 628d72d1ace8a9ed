"""In Chromium, pages show Arabic and Hebrew from right to left, and labels beside them as usual.

apt-get install -y chromium chromium-driver && pip install selenium
pytest tests/system/test_right_to_left.py
"""

import numpy as np
import pytest

import tagger
from tagger.tools.labels.corpus import Corpus
from tagger.tools.labels.errors import ErrorProbabilities
from tagger.tools.labels.issues import list_issues, write_issues
from tagger.tools.labels.probabilities import Item
from tests.integrations.service.running_service import running_service
from tests.system.chromium import chromium, needs, wait_until

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("time_limit")]
#: The direction of elements, from the styles that the browser computed.
DIRECTIONS = (
    "const found = [...document.querySelectorAll(arguments[0])];"
    "return found.map((each) => getComputedStyle(each).direction)"
)
#: Whether the first of two elements begins left of the end of the second one.
IS_LEFT = (
    "const [one, other] = [...arguments].map((each) => document.querySelector(each));"
    "return one.getBoundingClientRect().left < other.getBoundingClientRect().right - 1"
)


@needs("chromium", "chromedriver")
def test_the_label_error_page_has_the_direction_of_each_text(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("قال O\nمحمد B-PER\nعلي I-PER\nأمس O\n\nAda B-PER\nin O\nRome O\n", "utf-8")
    items = [
        Item(0, ("PER", (1, 2)), ("PER", (1, 1)), 0.1, 0.9, 0.9),
        Item(1, ("PER", (0, 0)), None, 0.4, 0.6, 0.4),
    ]
    corpus = Corpus(path, {})
    probabilities = ErrorProbabilities(items, np.array([0.9, 0.6]), np.array([0.9, 0.6]))
    page = write_issues(corpus, probabilities, list_issues(corpus, probabilities, 0.0), tmp_path)[0]
    with chromium() as browser:
        browser.get(page.as_uri())
        assert browser.execute_script(DIRECTIONS, "li p") == ["rtl", "rtl", "ltr", "ltr"]
        assert set(browser.execute_script(DIRECTIONS, "li .side, li mark small")) == {"ltr"}
        # The label stands after its entity, which is to the left.
        assert browser.execute_script(IS_LEFT, "li mark small", "li .side")


@needs("chromium", "chromedriver")
def test_the_agreement_page_has_the_direction_of_each_text(allennlp, tmp_path):
    for name, label in (("anna", "PER"), ("bob", "LOC")):
        text = f"قال O\nمحمد B-{label}\nعلي I-{label}\n\nAda B-{label}\nleft O\n"
        (tmp_path / f"{name}.txt").write_text(text, "utf-8")
    allennlp("agreement", tmp_path / "anna.txt", tmp_path / "bob.txt", "-o", tmp_path / "out")
    with chromium() as browser:
        browser.get((tmp_path / "out" / "agreement.html").as_uri())
        assert browser.execute_script(DIRECTIONS, ".versions p") == ["rtl", "rtl", "ltr", "ltr"]
        assert set(browser.execute_script(DIRECTIONS, "li mark small")) == {"ltr"}
        # The label is to the left, after its entity.
        right = "return document.querySelector(arguments[0]).getBoundingClientRect().right"
        ends = [browser.execute_script(right, each) for each in ("li mark small", "li mark")]
        assert ends[0] < ends[1] - 10


@needs("chromium", "chromedriver")
def test_the_trellis_is_headed_by_the_text_in_its_direction(archive_file, allennlp, tmp_path):
    page = tmp_path / "trellis.html"
    allennlp("show-chain", archive_file, "قال محمد علي", "-o", page)
    with chromium() as browser:
        browser.get(page.as_uri())
        assert browser.execute_script(DIRECTIONS, "h1, .wide svg") == ["rtl", "ltr"]


@needs("chromium", "chromedriver")
def test_the_services_page_has_the_direction_of_each_line(archive_file):
    texts = ("محمد علي met Paulo Ferraz in Lisbon", "Maria Lindqvist met Paulo Ferraz in Lisbon")
    assert tagger.load(archive_file).tag(texts[0]).entities
    with running_service(archive_file) as service, chromium() as browser:
        browser.get(service.url)
        browser.find_element("id", "text").send_keys("\n".join(texts))
        wait_until(lambda: len(browser.execute_script(DIRECTIONS, "#result p.line")) == 2)
        assert browser.execute_script(DIRECTIONS, "#result p.line") == ["rtl", "ltr"]
        assert set(browser.execute_script(DIRECTIONS, "#result mark small")) == {"ltr"}
