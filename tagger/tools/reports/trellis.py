"""The trellis of one sentence: the scores and probabilities of its tags, and two paths through them.

Letters: `T` tokens, `K` tags.
"""

from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance

from tagger.data.text_splitter import tokens_of
from tagger.linear_chain import (
    ChainScores,
    log_likelihood,
    sequence_score,
    tag_marginals,
    transition_marginals as marginals_of_transitions,
)
from tagger.models.tagging_model import chain_of, spell_model
from tagger.modules.heads import Chain
from tagger.predictors.saved_tagger import SavedTagger
from tagger.spans.finding import UNKNOWN
from tagger.tools.tuning.labelled_file import encoded
from tagger_texts.display import aligned, spell_probability
from tagger_texts.text import Text

#: The least probability of a tag that is listed.
LEAST = 0.01
#: The most tags of a token in the table, besides those of the paths.
MOST_OF_TOKEN = 3
HEADINGS = ("token", "tag", "path", "probability", "emission", "transition")


class Trellis(NamedTuple):
    """What a tagger's chain says about one sentence. Scores are in nats, without `decode_bias`.

    Args:
        name: Of the tagger.
        tokens: T tokens.
        tags: The names of K tags.
        scores: Of one sequence, on the CPU.
        marginals: (T, K), the probability of each tag at each token.
        transitions: (T - 1, K, K), the probability of each transition to token t + 1.
        predicted: The tags that the tagger predicts.
        gold: The gold tags, -1 where unknown; None if not given.
        settings: The decoder's settings that are not the default, for display.
    """

    name: str
    tokens: List[str]
    tags: List[str]
    scores: ChainScores
    marginals: torch.Tensor
    transitions: torch.Tensor
    predicted: List[int]
    gold: Optional[List[int]]
    settings: Dict[str, object]

    @property
    def paths(self) -> Dict[str, List[int]]:
        """The paths by name."""
        return {"predicted": self.predicted, **({"gold": self.gold} if self.gold else {})}

    def arrival(self, t: int, before: int, tag: int) -> float:
        """The score of coming to a tag at token t; of starting with it, if t is 0."""
        return float(self.scores.transitions[before, tag] if t else self.scores.start[tag])

    def summary(self) -> List[str]:
        """A sentence on each path, and on the decoder's settings."""
        lines = []
        for name, path in self.paths.items():
            if UNKNOWN in path:
                lines.append(f"{name} path: some of its tags are unknown, so it has no score")
                continue
            row = torch.tensor([path])
            probability = float(log_likelihood(self.scores, row).exp())
            score = spelled(float(sequence_score(self.scores, row)))
            lines.append(
                f"{name} path: score {score}, probability {spell_probability(probability)}"
            )
        for name, value in self.settings.items():
            lines.append(
                f"`{name}` {value} changes the predicted path, but no score and no probability"
            )
        return lines

    def rows(self) -> List[List[str]]:
        """The cells of a table with `HEADINGS`: the probable tags of each token, the paths' first.

        A tag that is on no path is entered from the tag with the most probable transition to it.
        """
        rows = []
        for t, token in enumerate(self.tokens):
            listed = self._arrivals(t)
            for number, ((tag, before), names) in enumerate(listed.items()):
                origin = f" from {self.tags[before]}" if t else " at the start"
                rows.append(
                    [
                        "" if number else token,
                        self.tags[tag],
                        ", ".join(names),
                        spell_probability(float(self.marginals[t, tag])),
                        spelled(float(self.scores.emissions[0, t, tag])),
                        spelled(self.arrival(t, before, tag)) + origin,
                    ]
                )
        ends: Dict[int, List[str]] = {}
        for name, path in self.paths.items():
            ends.setdefault(path[-1], []).append(name)
        for tag, names in ends.items():
            if tag != UNKNOWN:
                end = f"{spelled(float(self.scores.end[tag]))} from {self.tags[tag]}"
                rows.append(["(end)", "", ", ".join(names), "", "", end])
        return rows

    def _arrivals(self, t: int) -> Dict[Tuple[int, int], List[str]]:
        """The tags to list of a token, each with the tag before it, and the paths that take them."""
        found: Dict[Tuple[int, int], List[str]] = {}
        for name, path in self.paths.items():
            if path[t] != UNKNOWN:
                before = path[t - 1] if t else UNKNOWN
                best = self._probable_before(t, path[t]) if before == UNKNOWN else before
                found.setdefault((path[t], best), []).append(name)
        listed = {tag for tag, _ in found}
        order = torch.argsort(self.marginals[t], descending=True, stable=True).tolist()
        for tag in order[:MOST_OF_TOKEN]:
            if tag not in listed and self.marginals[t, tag] >= LEAST:
                found[tag, self._probable_before(t, tag)] = []
        return found

    def _probable_before(self, t: int, tag: int) -> int:
        return int(self.transitions[t - 1, :, tag].argmax()) if t else UNKNOWN


def spelled(score: float) -> str:
    """Returns a score with two decimals; an impossible one in a word."""
    return "impossible" if score == -torch.inf else f"{score:.2f}"


def table_of(trellis: Trellis) -> List[str]:
    """Returns the lines of a table for a terminal."""
    return aligned([HEADINGS, *trellis.rows()], to_the_left=(0, 1, 2, 5))


def trellis_of(tagger: SavedTagger, name: str, instance: Instance, row: int = 0) -> Trellis:
    """Computes the trellis of a sentence.

    Args:
        tagger: The tagger; its head must be one chain.
        name: Of the tagger, for display and for messages.
        instance: The sentence, or a document that has it, from `instance_of` or `sentence_in`.
        row: Which sentence of the document.

    Raises:
        ConfigurationError: If the tagger has no such head.
    """
    chain = checked_chain(tagger, name)
    ((batch, rows, _),) = encoded(tagger.model, [instance], 1)
    mask = batch.mask[row]
    # (1, T, K)
    emissions = batch.emissions[row : row + 1, mask]
    words = instance["metadata"].metadata["words"]  # type: ignore[attr-defined]
    places = rows.split(torch.arange(len(words)).unsqueeze(0))[row][mask.cpu()]
    with torch.no_grad():
        scores = ChainScores(*(each.cpu() for each in chain.chain_scores(emissions)))
        predicted = chain.decode(emissions, mask[mask].unsqueeze(0))[0].tolist()
    decoder = chain.decoder
    settings: Dict[str, Any] = {
        "decode_bias": decoder.decode_bias,
        "entity_thresholds": decoder.entity_thresholds,
    }
    if decoder.decoding != "viterbi":
        settings["decoding"] = decoder.decoding
    return Trellis(
        name=name,
        tokens=[words[place] for place in places.tolist()],
        tags=list(chain.tags),
        scores=scores,
        marginals=tag_marginals(scores)[0],
        transitions=marginals_of_transitions(scores)[0],
        predicted=predicted,
        gold=batch.gold_tags[row, mask].tolist() if "tags" in instance.fields else None,
        settings={name: value for name, value in settings.items() if value},
    )


def checked_chain(tagger: SavedTagger, name: str) -> Chain:
    """Returns the chain of a tagger; refuses a tagger that has none, or several, or reads no text."""
    chain, reads_numbers = chain_of(tagger.model), tagger.predictor.reads_numbers
    if chain is None or chain.labels_of_rows or reads_numbers:
        got = "a tagger of numbers" if reads_numbers else spell_model(tagger.model)
        raise ConfigurationError(
            f"{name}: expected a tagger of text with one chain of tags, which the heads `crf` and "
            f"`softmax` have; got {got}"
        )
    return chain


def words_of(tagger: SavedTagger, text: str) -> List[str]:
    """Splits a sentence into tokens like the tagger; refuses a text that is not one sentence."""
    sentences = tokens_of(tagger.split(text))
    if len(sentences) != 1:
        number = f"{len(sentences)} sentences" if sentences else "no tokens"
        raise ConfigurationError(f"`text` must be one sentence; got {number}")
    return [str(token) for token in sentences[0]]


def sentence_in(tagger: SavedTagger, path: Path, number: int) -> Tuple[Instance, int]:
    """Reads the sentence with a number, from 1, of a file like those that the tagger was trained on.

    Returns:
        The instance that has the sentence, and which of its sentences it is, from 0.
    """
    num_before = 0
    reader = tagger.predictor.dataset_reader
    for instance in reader.read(str(path)):
        lengths = instance.fields.get("sentence_lengths")
        num_sentences = 1 if lengths is None else len(lengths.tensor)  # type: ignore[attr-defined]
        if 0 < number <= num_before + num_sentences:
            reader.apply_token_indexers(instance)
            return instance, number - num_before - 1
        num_before += num_sentences
    raise ConfigurationError(
        f"`--sentence` must be from 1 to {num_before}, the number of sentences in {path}; got {number}"
    )


def instance_of(
    tagger: SavedTagger, words: Sequence[str], gold_tags: Optional[Sequence[str]] = None
) -> Instance:
    """Makes an instance of a sentence, and its tags as the tagger's training files spell them.

    Raises:
        ConfigurationError: If the gold tags do not fit.
    """
    if gold_tags is None:
        (instance,) = tagger.predictor.instances_of(Text.of_words(list(words)), False)
        return instance
    if len(gold_tags) != len(words):
        raise ConfigurationError(
            f"`--tags` must have a tag for each of the {len(words)} tokens {' '.join(words)}; got "
            f"{len(gold_tags)}"
        )
    reader = tagger.predictor.dataset_reader
    try:
        instance = reader.text_to_instance(list(words), list(gold_tags))
        instance["tags"].index(tagger.model.vocab)
    except ValueError as error:
        raise ConfigurationError(f"`--tags`: {error}") from error
    reader.apply_token_indexers(instance)
    return instance
