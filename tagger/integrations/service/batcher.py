"""Tags the texts of several requests in shared batches."""

import asyncio
from collections import defaultdict, deque
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import Any, Deque, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from tagger.integrations.service.limits import Limits, RequestError, refuse_above
from tagger.integrations.service.service_metrics import ServiceMetrics
from tagger.predictors.saved_tagger import SavedTagger, TaggedText
from tagger_texts.tagged_text import Extras
from tagger_texts.text import Text

#: How many texts from different requests are tagged in one batch.
BATCH_TEXTS = 512


class Job(NamedTuple):
    """The inputs of a request, the tagger it was checked for, and how to tag them.

    Its biases are pairs, sorted by label.
    """

    model: SavedTagger
    inputs: List[Union[str, List[str]]]
    extras: Extras
    biases: Tuple[Tuple[str, float], ...]


#: Texts after splitting into words.
Inputs = List[Union[Text, List[str]]]
Outcome = Union[List[TaggedText], Exception]


class Batcher:
    """Tags in a single thread. Requests that arrive while it is busy are batched and tagged next.

    Texts with the same tagger, biases and extras are tagged in one call of the tagger with these
    biases, so a request gets the same results as on its own. Nothing else may use the tagger at the
    same time. `metrics` records batch sizes.
    """

    def __init__(self, model: SavedTagger, limits: Limits, metrics: ServiceMetrics) -> None:
        #: The tagger of new requests; another one may take its place at any time.
        self.model = model
        self._limits = limits
        self._metrics = metrics
        self._thread = ThreadPoolExecutor(1, "tagger")
        self._waiting: Deque[Tuple[Job, asyncio.Future[List[TaggedText]]]] = deque()
        self._working: Optional[asyncio.Task[None]] = None

    @property
    def num_waiting(self) -> int:
        """The number of requests waiting for the model."""
        return len(self._waiting)

    async def tag(self, job: Job) -> List[TaggedText]:
        """Returns one result for each input, unless too many requests are waiting."""
        if self.num_waiting >= self._limits.waiting_requests:
            raise RequestError(
                503,
                "busy",
                f"{self.num_waiting} requests wait for the model already; try again in a second",
                self._limits.waiting_requests,
                self.num_waiting,
                {"Retry-After": "1"},
            )
        future: asyncio.Future[List[TaggedText]] = asyncio.get_running_loop().create_future()
        self._waiting.append((job, future))
        if self._working is None:
            self._working = asyncio.create_task(self._work())
        return await future

    async def close(self) -> None:
        """Finishes all accepted jobs and ends the thread."""
        while self._working is not None:
            await asyncio.wait([self._working])
        self._thread.shutdown()

    async def _work(self) -> None:
        """Tags until no request is waiting."""
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                batch = self._next_batch()
                self._metrics.batch_texts.observe(sum(len(job.inputs) for job, _ in batch))
                jobs = [job for job, _ in batch]
                try:
                    outcomes = await loop.run_in_executor(self._thread, self.outcomes, jobs)
                except Exception as error:  # Whatever happens, each request is answered.
                    outcomes = [error for _ in batch]
                for (_, future), outcome in zip(batch, outcomes):
                    if future.cancelled():
                        continue
                    if isinstance(outcome, Exception):
                        future.set_exception(outcome)
                    else:
                        future.set_result(outcome)
        finally:
            self._working = None

    def _next_batch(self) -> List[Tuple[Job, "asyncio.Future[List[TaggedText]]"]]:
        batch = []
        num_texts = 0
        while self._waiting and num_texts < BATCH_TEXTS:
            job, future = self._waiting.popleft()
            # Skips requests with a closed connection.
            if not future.cancelled():
                batch.append((job, future))
                num_texts += len(job.inputs)
        return batch

    def outcomes(self, jobs: Sequence[Job]) -> List[Outcome]:
        """Returns the results of each job, or its error. Only the worker thread may call this."""
        outcomes: Dict[int, Outcome] = {}
        # The inputs of each job, grouped by tagger, extras and biases.
        groups: Dict[Any, Dict[int, Inputs]] = defaultdict(dict)
        for index, job in enumerate(jobs):
            try:
                groups[job.model, job.extras, job.biases][index] = self._split(job)
            except Exception as error:
                outcomes[index] = error
        for (tagger, extras, biases), inputs in groups.items():
            try:
                model = tagger.with_bias(dict(biases)) if biases else tagger
            except Exception as error:
                outcomes.update(dict.fromkeys(inputs, error))
                continue
            outcomes.update(zip(inputs, _tag_each(model, list(inputs.values()), extras)))
        return [outcomes[index] for index in range(len(jobs))]

    def _split(self, job: Job) -> Inputs:
        """Splits texts into tokens, and raises an error if there are too many."""
        limits, num_tokens = self._limits, 0
        inputs: Inputs = []
        for number, each in enumerate(job.inputs):
            split = job.model.split(each) if isinstance(each, str) else each
            size = len(split.words if isinstance(split, Text) else split)
            num_tokens += size
            refuse_above(
                limits.text_tokens,
                size,
                "too_many_tokens",
                f"a text may have at most {limits.text_tokens} tokens; text {number} has {size}; "
                f"split it, for example into sentences",
            )
            refuse_above(
                limits.request_tokens,
                num_tokens,
                "too_many_tokens",
                f"the texts of a request may have at most {limits.request_tokens} tokens together; "
                f"those up to text {number} have {num_tokens}; send several requests",
            )
            inputs.append(split)
        return inputs


def _tag_each(model: SavedTagger, inputs: Sequence[Inputs], extras: Extras) -> List[Outcome]:
    """Tags the inputs of several jobs in one call, or if that fails, one job at a time."""
    try:
        wishes = {**extras._asdict(), "sets": extras.sets is not None}
        results = iter(model.tag(list(chain(*inputs)), **wishes))
        return [list(islice(results, len(texts))) for texts in inputs]
    except Exception as error:
        if len(inputs) == 1:
            return [error]
    return [_tag_each(model, [texts], extras)[0] for texts in inputs]
