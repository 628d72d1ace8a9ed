"""The page of `allennlp serve` in Chromium, on a desktop and on a phone, light and dark.

The page must show what `tagger.load` gives, load nothing from elsewhere, run nothing that a text
contains, be no wider than the screen, and write no error to the console. It needs

    apt-get install -y chromium chromium-driver && pip install selenium

`TAGGER_SCREENSHOTS=FOLDER` keeps pictures of it, for looking at. It takes the toy tagger, or another:
`TAGGER_ARCHIVE=runs/mine/model.tar.gz`.
"""

import importlib.util
import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Sequence

import pytest

import tagger
from tagger_onnx.display import spell_probability
from tests.integrations.service.running_service import running_service

#: The key as WebDriver spells it.
ARROW_RIGHT = "\ue014"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
)
#: Taggers of several kinds find entities in one of them.
TEXTS = [
    "Maria Lindqvist met Paulo Ferraz in Lisbon.",
    "1600 Pennsylvania Avenue NW, Washington, DC",
]
#: Names, widths and heights of screens in pixels.
SCREENS = {"desktop": (1440, 900), "phone": (390, 844)}
#: Tries to run; the first character takes two units in a browser, and one in Python.
HOSTILE = "\U0001f600 <img src=x onerror=\"document.title='broken'\"> "


MISSING = [
    *(name for name in ("chromium", "chromedriver") if shutil.which(name) is None),
    *(["selenium"] if importlib.util.find_spec("selenium") is None else []),
]

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}"),
]


def test_the_page_shows_what_the_tagger_gives_on_every_screen(archive_file, tmp_path):
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
                        path = folder / f"{screen}_{scheme}_{name}.png"
                        browser.save_screenshot(str(path))


class Page:
    """The page in a browser.

    Args:
        browser: The browser.
        url: The page's address.
        model: The tagger that the page must equal.
    """

    def __init__(self, browser: Any, url: str, model: Any) -> None:
        self._browser = browser
        self._url = url
        self._model = model

    def try_all(self, text: str) -> None:
        """Fails if the page does anything else than it should."""
        self._browser.get(self._url)
        self._until(lambda: self._model.biases.keys() == set(self._dial_labels()))
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
        self._until(lambda: "500 long" in self._find("#problem").text)
        self._type(text)
        self._expect(text, {})
        assert not self._find("#problem").is_displayed()
        self._turn(label, 1.5)
        self._expect(text, {label: 1.5})
        self._check_surroundings()

    def _check_folding(self, text: str) -> None:
        """Of many dials, only those of labels in the text are shown, and all on demand."""
        shown = "return [...document.querySelectorAll('.dial:not([hidden])')].length"
        labels = self._model.biases
        found = {entity.label for entity in self._model.tag(text).entities}
        assert self._browser.execute_script(shown) == len(labels if len(labels) <= 8 else found)
        if len(labels) > 8:
            for number in (len(labels), len(found)):
                self._find("#show-all").click()
                assert self._browser.execute_script(shown) == number

    def _expect(self, text: str, biases: Dict[str, float], others: Sequence[str] = ()) -> None:
        model = self._model.with_bias(biases)
        wanted = [
            (entity.text, entity.label, spell_probability(entity.probability))
            for tagged in model.tag([text, *others])
            for entity in tagged.entities
        ]
        self._until(lambda: self._marks() == wanted, lambda: f"{self._marks()}, not {wanted}")

    def _marks(self) -> List[Any]:
        marks = self._browser.execute_script(
            "return [...document.querySelectorAll('mark')].map((mark) => [mark.firstChild.data, "
            "mark.querySelector('b').textContent, "
            "mark.querySelector('small').lastChild.data.trim()])"
        )
        return [tuple(mark) for mark in marks]

    def _check_surroundings(self) -> None:
        width, scroll = self._browser.execute_script(
            "return [innerWidth, document.documentElement.scrollWidth]"
        )
        assert scroll <= width, f"the page is {scroll} pixels wide on a screen of {width}"
        assert self._browser.title != "broken", "a text was run as a script"
        loaded = self._browser.execute_script(
            "return performance.getEntriesByType('resource').map(({ name }) => name)"
        )
        assert loaded, "the page must have asked the service"
        foreign = [name for name in loaded if not name.startswith(f"{self._url}/")]
        assert not foreign, f"the page loads {foreign}"
        errors = [
            entry for entry in self._browser.get_log("browser") if "413" not in entry["message"]
        ]
        assert not errors, f"the console says {errors}"
        unnamed = self._browser.execute_script(
            "return [...document.querySelectorAll('input, textarea, button')].filter((each) => "
            "!each.labels?.length && !each.ariaLabel && !each.textContent).length"
        )
        assert unnamed == 0, f"{unnamed} controls have no name for screen readers"

    def _type(self, text: str) -> None:
        # Keys would not give what is outside of the basic plane.
        self._browser.execute_script(
            "const text = document.getElementById('text'); text.value = arguments[0]; "
            "text.dispatchEvent(new Event('input'))",
            text,
        )

    def _turn(self, label: str, bias: float) -> None:
        self._browser.execute_script(
            "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))",
            self._slider(label),
            bias,
        )

    def _slider(self, label: str) -> Any:
        return self._find(f'[data-label="{label}"] input')

    def _dial_labels(self) -> List[str]:
        found: List[str] = self._browser.execute_script(
            "return [...document.querySelectorAll('.dial')].map(({ dataset }) => dataset.label)"
        )
        return found

    def _find(self, selector: str) -> Any:
        return self._browser.find_element("css selector", selector)

    def _until(
        self, is_true: Callable[[], bool], say: Callable[[], str] = lambda: "not reached"
    ) -> None:
        ends = time.monotonic() + 10
        while not is_true():
            assert time.monotonic() < ends, say()
            time.sleep(0.02)


@contextmanager
def chromium(size: Sequence[int], scheme: str) -> Iterator[Any]:
    """Starts Chromium with a new profile.

    Args:
        size: Width and height of the screen, in pixels.
        scheme: `light` or `dark`.
    """
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory() as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
        browser = webdriver.Chrome(options=options, service=service)
        try:
            # A window cannot be as narrow as a phone.
            metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1}
            metrics["mobile"] = size[0] < 600
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            features = [{"name": "prefers-color-scheme", "value": scheme}]
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
            yield browser
        finally:
            browser.quit()
