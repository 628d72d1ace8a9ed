"""How fast predictions come."""

import logging
import time
from typing import Optional

logger = logging.getLogger(__name__)


class Throughput:
    """Counts what is predicted, and logs now and then how much it was in a second.

    Args:
        interval: seconds from one line of the log to the next.
    """

    def __init__(self, interval: float = 30.0) -> None:
        self._interval = interval
        self._num_sentences = 0
        self._num_tokens = 0
        self._started: Optional[float] = None
        self._ended = 0.0
        self._logged = 0.0

    def start(self) -> None:
        """Starts the clock, once: what came before it was start-up."""
        if self._started is None:
            self._started = self._logged = time.perf_counter()

    def add(self, num_sentences: int, num_tokens: int) -> None:
        """Counts what has been predicted since the last time, or since the start."""
        self._num_sentences += num_sentences
        self._num_tokens += num_tokens
        self._ended = time.perf_counter()
        if self._ended - self._logged >= self._interval:
            self.log()

    def log(self) -> None:
        """Logs the counts and the rates, unless nothing, or no more than one sentence, was predicted."""
        if self._started is None or self._num_sentences < 2:
            return
        self._logged = self._ended
        seconds = max(self._ended - self._started, 1e-9)
        logger.info(
            "predicted %d sentences, %d tokens in %.1f s: %.0f sentences/s, %.0f tokens/s",
            self._num_sentences,
            self._num_tokens,
            seconds,
            self._num_sentences / seconds,
            self._num_tokens / seconds,
        )
