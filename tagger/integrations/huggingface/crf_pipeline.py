"""The transformers pipeline `ner`, decoding with the CRF."""

from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from transformers.pipelines import PIPELINE_REGISTRY
from transformers.pipelines.token_classification import (
    AggregationStrategy,
    TokenClassificationPipeline,
)

from tagger.integrations.huggingface.crf_for_token_classification import crf_model_in
from tagger.integrations.huggingface.word_piece_tagger import WordPieceTagger


class CrfPipeline(TokenClassificationPipeline):
    """The pipeline that `pipeline("ner", model=...)` returns for a `CrfForTokenClassification`.

    It finds the same entities as `WordPieceTagger`. A text of any length is one chain, so `stride` has
    no effect. Other models get the standard pipeline of transformers.

    With `aggregation_strategy="none"`, the default, the result is one dictionary for each word, except
    for tags in `ignore_labels`; `score` is the marginal probability of the tag and `index` counts words.
    With every other strategy, it is one dictionary for each entity, and `score` is the probability of
    the whole entity. These strategies all give the same result, because the CRF has one tag for each
    word. If the tags spell no spans, each word is an entity.

    The arguments are those of other pipelines plus `language`, which says how to split texts into words
    as in `WordPieceTagger`.
    """

    def __new__(cls, *args: Any, model: Any = None, **kwargs: Any) -> Any:
        """Makes the standard pipeline for a model without a CRF."""
        if model is not None and crf_model_in(model) is None:
            return TokenClassificationPipeline(*args, model=model, **kwargs)
        return super().__new__(cls)

    def __init__(self, *args: Any, model: Any, language: str = "en", **kwargs: Any) -> None:
        super().__init__(*args, model=model, **kwargs)
        crf = crf_model_in(model)
        assert crf is not None  # checked in `__new__`
        self._tagger = WordPieceTagger(crf, self.tokenizer, language)

    def check_model_type(self, supported_models: Any) -> None:
        """Accepts the model, which is missing from the library's list of names."""

    def preprocess(
        self,
        sentence: Any,
        offset_mapping: Optional[Sequence[Tuple[int, int]]] = None,
        is_split_into_words: bool = False,
        delimiter: str = " ",
        **kwargs: Any,
    ) -> Iterator[Dict[str, Any]]:
        if offset_mapping is not None:
            raise ValueError(
                "`offset_mapping` is for tokenizers that know no offsets; leave it out, or give words "
                "with `is_split_into_words=True`"
            )
        yield {
            "input": sentence,
            "text": delimiter.join(sentence) if is_split_into_words else sentence,
            "is_last": True,
        }

    def _forward(self, model_inputs: Dict[str, Any], **kwargs: Any) -> Dict[str, Any]:
        inputs = model_inputs.pop("input")
        # With a `batch_size`, each value is a list.
        is_batch = isinstance(model_inputs["is_last"], list)
        tagged = self._tagger.tag(inputs if is_batch else [inputs], probabilities=True)
        return {"tagged": tagged if is_batch else tagged[0], **model_inputs}

    def postprocess(
        self,
        all_outputs: List[Dict[str, Any]],
        aggregation_strategy: AggregationStrategy = AggregationStrategy.NONE,
        ignore_labels: Optional[Sequence[str]] = None,
    ) -> List[Dict[str, Any]]:
        ignored = {"O"} if ignore_labels is None else set(ignore_labels)
        (output,) = all_outputs
        tagged, text = output["tagged"], output["text"]
        places = _places(tagged.tokens, text)
        are_words = aggregation_strategy == AggregationStrategy.NONE
        if self._tagger.finds_entities and not are_words:
            spans = [(e.label, e.probability, e.first, e.last) for e in tagged.entities]
        else:
            # A word without any piece has no probabilities and is always outside.
            rows = zip(tagged.tags, tagged.probabilities)
            spans = [(tag, row.get(tag, 1.0), k, k) for k, (tag, row) in enumerate(rows)]
        found = []
        for label, score, first, last in spans:
            start, end = places[first][0], places[last][1]
            key = "entity" if are_words else "entity_group"
            item = {key: label, "score": score, "word": text[start:end], "start": start, "end": end}
            if label not in ignored:
                found.append({**item, "index": first} if are_words else item)
        return found

    def _ensure_tensor_on_device(self, inputs: Any, device: Any) -> Any:
        return inputs  # texts and their results


def _places(words: Sequence[str], text: str) -> List[Tuple[int, int]]:
    """Returns the start and end of each word in a text."""
    places, end = [], 0
    for word in words:
        start = text.index(word, end)
        end = start + len(word)
        places.append((start, end))
    return places


# `register_pipeline` would warn that the task already exists.
PIPELINE_REGISTRY.supported_tasks["token-classification"]["impl"] = CrfPipeline
