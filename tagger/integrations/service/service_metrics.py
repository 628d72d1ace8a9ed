"""The service's counters for Prometheus."""

from typing import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as CONTENT_TYPE

from tagger.predictors.saved_tagger import TaggedText

__all__ = ["CONTENT_TYPE", "ServiceMetrics"]


class ServiceMetrics:
    """Counters of one service."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self.requests = Counter(
            "tagger_requests", "Requests by path and status.", ["path", "status"], registry=registry
        )
        self.seconds = Histogram(
            "tagger_request_seconds",
            "The time from a request for /tag to its response.",
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
            registry=registry,
        )
        self.batch_texts = Histogram(
            "tagger_batch_texts",
            "The number of texts that were tagged together.",
            buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
            registry=registry,
        )
        self.waiting = Gauge(
            "tagger_waiting_requests", "Requests waiting for the model.", registry=registry
        )
        self._texts = Counter("tagger_texts", "Texts that were tagged.", registry=registry)
        self._tokens = Counter("tagger_tokens", "Tokens that were tagged.", registry=registry)
        self._entities = Counter(
            "tagger_entities", "Entities that were found, by label.", ["label"], registry=registry
        )

    def count(self, results: Sequence[TaggedText]) -> None:
        """Counts texts, tokens and entities."""
        self._texts.inc(len(results))
        self._tokens.inc(sum(len(result.tokens) for result in results))
        for result in results:
            for entity in result.entities:
                self._entities.labels(entity.label).inc()

    def text(self) -> bytes:
        """Returns all metrics in Prometheus' text format."""
        return generate_latest(self._registry)
