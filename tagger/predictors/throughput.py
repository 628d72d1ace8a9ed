"""Measures how fast a predictor is."""

import logging
import time
from typing import Optional

logger = logging.getLogger(__name__)


class Throughput:
    """Logs the predictions per second every `interval` seconds, once the work took `least` seconds."""

    def __init__(self, interval: float = 30.0, least: float = 1.0) -> None:
        self._interval = interval
        self.least = least
        self._num_sentences = 0
        self._num_tokens = 0
        self._started: Optional[float] = None
        self._ended = 0.0
        self._logged = 0.0

    def start(self) -> None:
        """Starts the clock on the first call, so that start-up is not measured."""
        if self._started is None:
            self._started = self._logged = time.perf_counter()

    def add(self, num_sentences: int, num_tokens: int) -> None:
        """Adds the predictions made since the last call."""
        self._num_sentences += num_sentences
        self._num_tokens += num_tokens
        self._ended = time.perf_counter()
        if self._ended - self._logged >= self._interval:
            self.log()

    def log(self) -> None:
        """Logs counts and rates, if they say something."""
        if self._started is None or self._num_sentences < 2:
            return
        seconds = max(self._ended - self._started, 1e-9)
        if seconds < self.least:
            return
        self._logged = self._ended
        counts = (self._num_sentences, self._num_tokens)
        logger.info(
            "predicted %d sentences, %d tokens in %.1f s: %.0f sentences/s, %.0f tokens/s",
            *(*counts, seconds, *(count / seconds for count in counts)),
        )
