"""Draws changed versions of training instances."""

import itertools
import logging
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import numpy as np
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance

from tagger.common.did_you_mean import did_you_mean
from tagger.common.training_counts import gather_from_workers, sentence_weights
from tagger.data.augmentation.segments import (
    Segment,
    Word,
    segments_of,
    sentences_of,
    with_sentences,
)
from tagger.data.text_encodings import decoded_lines
from tagger.spans import infer_encoding, spans_to_tags

logger = logging.getLogger(__name__)


class Augmenter:
    """Learns from all training instances, and draws changed versions of them.

    Args:
        instances: The training instances of this worker; it also learns from those of the others.
        probabilities: By method, the probability for rare labels; as for `AugmentationCallback`.
        threshold: As for `AugmentationCallback`.
        terms: As for `AugmentationCallback`.

    Raises:
        ConfigurationError: If instances do not have one tag for each token, if none has an entity, or
            if `terms` names a label that no entity has.
    """

    def __init__(
        self,
        instances: Sequence[Instance],
        probabilities: Mapping[str, float],
        threshold: float = 0.1,
        terms: Optional[Mapping[str, str]] = None,
    ) -> None:
        changes = {
            "mention_replacement": self._with_other_mention,
            "token_replacement": self._with_other_tokens,
            "segment_shuffling": _shuffled,
        }
        self._methods = [(changes[name], value) for name, value in probabilities.items() if value]
        own = [
            (words, weight)
            for instance in instances
            for words, weight in zip(sentences_of(instance), sentence_weights(instance))
            if weight > 0
        ]
        weighted = list(itertools.chain(*gather_from_workers(own)))
        # By tag, the words that have it.
        self._texts: Dict[str, List[str]] = defaultdict(list)
        for word in itertools.chain(*(words for words, _ in weighted)):
            if isinstance(word.tag, str):
                self._texts[word.tag].append(word.text)
        # IOB1 is read as BIO, and plain labels as IO.
        self._encoding = infer_encoding(sorted(self._texts)) or "IO"
        counts: Counter = Counter()
        # By label and text, the words of distinct entities.
        mentions: Dict[str, Dict[str, Sequence[Word]]] = defaultdict(dict)
        for words, weight in weighted:
            for segment in segments_of(words, self._encoding):
                if segment.label and segment.is_known:
                    counts[segment.label] += weight
                    mentions[segment.label].setdefault(_text(segment.words), segment.words)
        if not counts:
            raise ConfigurationError(
                "`augmentation` changes entities, but the training data have none, or none that "
                "weighs more than 0; check their tags"
            )
        most = threshold * counts.total()
        self._factors = {label: min(1, most / count) for label, count in sorted(counts.items())}
        shown = ", ".join(f"{label} {factor:.2f}" for label, factor in self._factors.items())
        logger.info("Augmentation multiplies the probabilities by %s", shown)
        for label, path in (terms or {}).items():
            for term in self._read_terms(label, path):
                mentions[label].setdefault(_text(term), term)
        self._mentions = {label: list(own.values()) for label, own in mentions.items()}

    def draw(self, instance: Instance, generator: np.random.Generator) -> Instance:
        """Returns a new version of an instance, or the same object if nothing has changed.

        Sentences without an entity, or with soft labels and unknown tags, do not change.
        """
        before = sentences_of(instance)
        after = [self._drawn(words, generator) for words in before]
        is_certain = all(isinstance(word.tag, str) for word in itertools.chain(*after))
        if after == before or ("soft_tags" in instance.fields and not is_certain):
            return instance
        return with_sentences(instance, after)

    def _drawn(self, words: List[Word], generator: np.random.Generator) -> List[Word]:
        segments = segments_of(words, self._encoding)
        factors = [self._factors.get(each.label or "", 0.0) for each in segments]
        # Also that of the words between entities.
        highest = max(factors, default=0.0)
        drawn: List[Word] = []
        for segment, own in zip(segments, factors):
            factor, new = own if segment.label else highest, segment
            for change, probability in self._methods if segment.is_known and factor else ():
                new = new._replace(words=change(new, probability * factor, generator))
            drawn += new.words
        return drawn

    def _with_other_mention(
        self, segment: Segment, probability: float, generator: np.random.Generator
    ) -> Tuple[Word, ...]:
        old = segment.words
        if segment.label is None or generator.random() >= probability:
            return old
        mentions = self._mentions[segment.label]
        new = mentions[generator.integers(len(mentions))]
        tags: List[Any] = list(_tags(segment.label, len(new), self._encoding))
        if self._encoding == "BIO":
            # In IOB1, the first tag depends on the entity before.
            tags[0] = old[0].tag
        gaps = [old[0].gap, *(word.gap for word in new[1:])]
        return tuple(Word(word.text, tag, gap) for word, tag, gap in zip(new, tags, gaps))

    def _with_other_tokens(
        self, segment: Segment, probability: float, generator: np.random.Generator
    ) -> Tuple[Word, ...]:
        words = list(segment.words)
        for place in np.flatnonzero(generator.random(len(words)) < probability):
            texts = self._texts[words[place].tag]
            words[place] = words[place]._replace(text=texts[generator.integers(len(texts))])
        return tuple(words)

    def _read_terms(self, label: str, path: str) -> Iterator[List[Word]]:
        if label not in self._factors:
            raise ConfigurationError(
                f"`terms` names `{label}`, which is no label of a training entity "
                f"({', '.join(self._factors)}){did_you_mean(label, self._factors)}"
            )
        with Path(path).open("rb") as lines:
            for _, line in decoded_lines(lines, path):
                words = [Word(text, None) for text in line.split()]
                # The model has only the tags of the training data.
                if words and self._texts.keys() >= set(_tags(label, len(words), self._encoding)):
                    yield words


def _shuffled(
    segment: Segment, probability: float, generator: np.random.Generator
) -> Tuple[Word, ...]:
    words = segment.words
    if generator.random() >= probability:
        return words
    order = generator.permutation(len(words))
    return tuple(word._replace(text=words[i].text) for word, i in zip(words, order))


def _text(words: Sequence[Word]) -> str:
    return " ".join(word.text for word in words)


def _tags(label: str, num_words: int, tag_encoding: str) -> List[str]:
    """Returns the tags of an entity."""
    return spans_to_tags([(label, (0, num_words - 1))], num_words, tag_encoding)
