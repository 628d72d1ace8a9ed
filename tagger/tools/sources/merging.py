"""Merges what several sources say about texts into one training set."""

import itertools
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np
import torch

from tagger.common.did_you_mean import did_you_mean
from tagger.data.formats import OPEN, AnnotatedText, Annotation, tags_of
from tagger.data.formats.annotated_text import document_of, lengths_of, sentences
from tagger.data.soft_labels import SoftLabels
from tagger.data.sources.annotations import SourcedText
from tagger.spans import tags_to_spans
from tagger.spans.encodings import complete_tags
from tagger.tools.sources.hidden_chain import HiddenChain, Votes
from tagger.tools.sources.posterior import Chains, best_tags, expectations, marginals_of_sentences
from tagger.tools.sources.reliability import CrossChecks, Reliability, reliability

#: The ways to merge.
METHODS = ("hidden_chain", "dawid_skene", "majority", "union")
#: The probability of a tag for which nobody voted, by `majority` and `union`.
_UNLIKELY = 1e-6


class Merged(NamedTuple):
    """Merged labels.

    Attributes:
        texts: The texts with their most probable entities. Parts that no source has read, and tags that
            are not probable enough, are open: `tagger_open` in the properties.
        sources: The reliability of each source.
        num_overlooked: The number of words that sources seem to have overlooked.
        chain: The model.
        chains: The chains of the true tags of all sentences.
    """

    texts: List[AnnotatedText]
    sources: Dict[str, Reliability]
    num_overlooked: int
    chain: HiddenChain
    chains: Chains

    def soft_labels(self, tag_encoding: str = "BIO") -> SoftLabels:
        """Returns the probabilities of tags and transitions, from which a student learns."""
        tags = complete_tags([f"B-{label}" for label in self.chain.labels], tag_encoding)
        found = marginals_of_sentences(self.chain.in_encoding(self.chains, tags, tag_encoding))
        words = [[own for own, _ in sentences(text)] for text in self.texts]
        return SoftLabels(tags, [*itertools.chain(*words)], *found, [*map(len, words)])


def merge(
    sourced: Sequence[SourcedText],
    method: str = "hidden_chain",
    gold: Optional[str] = None,
    min_probability: float = 0.0,
    repeats: bool = True,
    device: Optional[torch.device] = None,
) -> Merged:
    """Merges the annotations of texts.

    Args:
        sourced: The texts. Whoever annotated a text annotated all of it.
        method: One of `METHODS`.
        gold: The source that is always right.
        min_probability: Where the most probable tag is less probable, it is left open.
        repeats: Whether a source that labels a word and, elsewhere in the same document, does not label
            it is taken to have overlooked it there, and so says nothing there. Words in lowercase are
            left alone.
        device: Where to compute; by default on the CPU.

    Raises:
        ValueError: If there is nothing to merge, or `gold` is no source.
    """
    corpus = _Corpus(sourced, gold)
    chain = HiddenChain(corpus.labels, len(corpus.sources), method != "dawid_skene", device)
    first_votes, num_overlooked = corpus.votes(chain.tags, repeats, device)
    votes, at_chance = first_votes, set()
    copies: Dict[int, int] = {}
    if method in ("majority", "union"):
        shares = chain.union(votes) if method == "union" else chain.majority(votes)
        emissions = chain.possible((shares + _UNLIKELY).log(), votes)
        chain.transitions = chain.legal.double().log()
        chains = chain.chains(emissions, votes.lengths)
        probabilities, _ = expectations(chains)
    else:
        chains, probabilities = chain.fit(votes)
        checks = CrossChecks(chain, votes)
        while found := checks.find_copies():
            copies |= found
            votes = votes.where(~checks.is_repeated(found))
            chains, probabilities = chain.fit(votes)
            checks = CrossChecks(chain, votes)
        at_chance = {source for source in range(len(corpus.sources)) if checks.is_chance(source)}
    best = best_tags(chains)
    merged = best.cpu().numpy()
    reports = corpus.reports(chain, first_votes, merged)
    for number, name in enumerate(corpus.sources):
        original = corpus.sources[copies[number]] if number in copies else None
        reports[name] = reports[name]._replace(copy_of=original, is_chance=number in at_chance)
    is_known = votes.gold >= 0
    is_known[votes.tokens] = True
    is_known &= probabilities.gather(1, best[:, None])[:, 0] >= min_probability
    texts = corpus.labelled([chain.tags[tag] for tag in merged], is_known.cpu().numpy())
    return Merged(texts, reports, num_overlooked, chain, chains)


class _Corpus:
    """Texts on common tokens, and their sources as numbers."""

    def __init__(self, sourced: Sequence[SourcedText], gold: Optional[str]) -> None:
        self._texts = [each.on_common_tokens() for each in sourced]
        every = {source for each in sourced for source in each.annotations}
        self.sources = sorted(every - {gold})
        if gold is not None and gold not in every:
            raise ValueError(
                f"`gold` is {gold!r}, which is no source{did_you_mean(gold, every)}; the sources are "
                f"{', '.join(sorted(every)) or 'none'}"
            )
        if not self.sources:
            raise ValueError("expected texts with the annotations of at least one source; got none")
        self._gold = gold
        found = (entities for each in self._texts for entities in each.annotations.values())
        self.labels = sorted({entity.label for entities in found for entity in entities})
        if not self.labels:
            raise ValueError("no source found an entity in any text, so there is nothing to merge")
        sizes = [length for each in self._texts for length in lengths_of(each.text)]
        #: (N,) bool, whether a token starts a sentence.
        self.starts = np.zeros(sum(sizes), dtype=bool)
        self.starts[np.cumsum([0, *sizes[:-1]])] = True
        self._sizes = sizes

    def votes(
        self, tags: Sequence[str], repeats: bool, device: Optional[torch.device]
    ) -> Tuple[Votes, int]:
        """Returns the votes, and how many `O` of overlooked words are not among them."""
        tag_index = {tag: index for index, tag in enumerate(tags)}
        source_index = {source: index for index, source in enumerate(self.sources)}
        gold = np.full(len(self.starts), -1)
        columns: List[np.ndarray] = []
        labelled: Set[Tuple[Any, int, str]] = set()
        keys: List[List[Tuple[Any, int, str]]] = []
        first = 0
        for row, (text, annotations) in enumerate(self._texts):
            words = _words(text)
            name = document_of(text)
            document = (row,) if name is None else name
            for source, entities in annotations.items():
                tags_given = tags_of(text._replace(entities=entities))
                given = np.array([tag_index[tag] for tag in tags_given], dtype=np.int64)
                tokens = np.arange(first, first + len(words))
                if source == self._gold:
                    gold[tokens] = given
                    continue
                # The label of the token before, 0 at the start of a sentence
                before = np.where(self.starts[tokens], 0, np.roll((given + 1) // 2, 1))
                index = source_index[source]
                columns.append(np.stack([tokens, np.full_like(tokens, index), given, before]))
                keys.append([(document, index, word) for word in words])
                labelled.update(key for key, tag in zip(keys[-1], given) if tag)
            first += len(words)
        found = np.concatenate(columns, axis=1)
        is_overlooked = found[2] == 0
        is_overlooked[is_overlooked] = [
            repeats and key[2] != key[2].lower() and key in labelled
            for key, tag in zip(itertools.chain.from_iterable(keys), found[2])
            if tag == 0
        ]
        arrays = (np.array(self._sizes), *found[:, ~is_overlooked], gold)
        votes = Votes(*(torch.from_numpy(each).to(device or "cpu") for each in arrays))
        return votes, int(is_overlooked.sum())

    def reports(
        self, chain: HiddenChain, votes: Votes, merged: np.ndarray
    ) -> Dict[str, Reliability]:
        """The reliability of each source, with the merged tags, (N,), for the true ones."""
        reports = {}
        sources, tokens, tags = (
            each.cpu().numpy() for each in (votes.sources, votes.tokens, votes.tags)
        )
        for number, name in enumerate(self.sources):
            given = np.full(len(merged), -1)
            given[tokens[sources == number]] = tags[sources == number]
            num_texts = sum(name in each.annotations for each in self._texts)
            reports[name] = reliability(chain.tags, given, merged, self.starts, num_texts)
        return reports

    def labelled(self, tags: Sequence[str], is_known: np.ndarray) -> List[AnnotatedText]:
        """Returns the texts with entities, and with open parts where tags are not known.

        An entity with an open token is open.
        """
        texts, first = [], 0
        for text, _ in self._texts:
            places = text.tokens or []
            known = is_known[first : first + len(places)].copy()
            spans = tags_to_spans(tags[first : first + len(places)], "BIO")
            for _, (start, end) in spans:
                known[start : end + 1] &= known[start : end + 1].all()
            entities = [
                Annotation(label, places[start][0], places[end][1])
                for label, (start, end) in spans
                if known[start]
            ]
            parts = [list(place) for place, each in zip(places, known) if not each]
            properties = {**text.properties, OPEN: parts} if parts else text.properties
            texts.append(text._replace(entities=entities, properties=properties))
            first += len(places)
        return texts


def _words(text: AnnotatedText) -> List[str]:
    return [text.text[start:end] for start, end in text.tokens or []]
