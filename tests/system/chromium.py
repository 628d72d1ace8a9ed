"""Chromium with a new profile. Tests of pages are skipped without it."""

import importlib.util
import shutil
import tempfile
import time
from contextlib import contextmanager

import pytest

#: Without a screen and without connections to other machines.
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-sync", "--disable-background-networking", "--disable-component-update"),
    *("--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
)


def needs(*programs):
    """Skips tests without these programs, and without selenium for tests that drive Chromium."""
    missing = [name for name in programs if shutil.which(name) is None]
    if "chromedriver" in programs and importlib.util.find_spec("selenium") is None:
        missing.append("selenium")
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


@contextmanager
def chromium(size=(1440, 900), scheme="light"):
    """Starts Chromium.

    Args:
        size: Width and height of the screen, in pixels.
        scheme: `light` or `dark`.
    """
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory() as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        service = webdriver.ChromeService(shutil.which("chromedriver"))
        with webdriver.Chrome(options, service) as browser:
            # Chromium's windows cannot be as narrow as a phone.
            metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1}
            metrics["mobile"] = size[0] < 600
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            features = [{"name": "prefers-color-scheme", "value": scheme}]
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
            browser.set_script_timeout(300)
            yield browser


def loaded_from_elsewhere(browser, own):
    """The URLs that a page has loaded from other addresses than its own."""
    script = "return performance.getEntriesByType('resource').map(({ name }) => name)"
    return [name for name in browser.execute_script(script) if not name.startswith(own)]


def wait_until(is_true, say=lambda: "not reached", seconds=10):
    ends = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < ends, say()
        time.sleep(0.02)
