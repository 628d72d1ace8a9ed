"""A tagger in one ONNX file: `load` reads the file, `OnnxTagger.tag` tags texts."""

import itertools
import json
from functools import cached_property
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Union

import numpy as np

from tagger_onnx import checksum
from tagger_onnx.lookup import KINDS, distinct_words
from tagger_onnx.splitter import splitter_of
from tagger_texts.batches import batches_within
from tagger_texts.inputs import RUN_CHARACTERS
from tagger_texts.merging import merged_chains, merged_pieces
from tagger_texts.prediction import Entity, Prediction
from tagger_texts.recordings import Steps, check_numbers, padded_numbers, windows
from tagger_texts.sentences import sentence_lengths
from tagger_texts.tagged_text import Extras, TaggedText, TextOrTokens
from tagger_texts.text import Text
from tagger_texts.text_tagger import TextTagger

#: The version of the file's metadata.
FORMAT = 4

Sentence = Union[Text, Steps]

# The most tokens of a batch, padding included.
_BATCH_TOKENS = 2048


class OnnxTagger(TextTagger[str]):
    """Tags texts like `tagger.SavedTagger`, without PyTorch and AllenNLP.

    Use `load` to make one; `session` is an `onnxruntime.InferenceSession` for the file.
    """

    def __init__(
        self, session: Any, name: str, run_characters: Optional[int] = RUN_CHARACTERS
    ) -> None:
        metadata = session.get_modelmeta().custom_metadata_map
        try:
            description: Dict[str, Any] = json.loads(metadata.get("tagger", "{}"))
            version = description.get("format")
        except (ValueError, AttributeError, RecursionError):
            version = "unknown"
        if version != FORMAT:
            raise ValueError(
                f"{name}: expected a file of `allennlp export` with format {FORMAT}, got format "
                f"{version}; export the tagger again"
            )
        self._session = session
        self._name = name
        try:
            self._read(description)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{name}: the metadata are not as `allennlp export` writes them "
                f"({type(error).__name__}: {error}); export the tagger again"
            ) from None
        # The time of all other ways to split is linear in the length of the text.
        self.run_characters = run_characters if "language" in self._splitting else None
        self._outputs = [output.name for output in session.get_outputs()]
        finds_entities = "entity_lasts" in self._outputs
        self._leak_labels = sorted(each or "_" for each in self.labels) if finds_entities else []

    def _read(self, description: Dict[str, Any]) -> None:
        self._tags: List[str] = description["tags"]
        self._labels_of_tags: List[Optional[str]] = description["labels_of_tags"]
        self._has_label_sets = description["head"] == "sigmoid"
        # How many rows of the graph's outputs are of a sentence, if entities of labels may overlap.
        self._num_chains: int = description.get("num_chains", 1)
        self._splitting: Dict[str, Any] = description["splitting"]
        self._split = splitter_of(self._splitting)
        self._max_sentence_tokens: Optional[int] = description["max_sentence_tokens"]
        # Of a tagger of numbers: how many a step has, the size of windows, and their overlap.
        self._numbers: Optional[List[int]] = description.get("numbers")
        self.step_size = self._numbers[0] if self._numbers else None
        self._indexers = [
            KINDS[each["kind"]](name, each) for name, each in description["indexers"].items()
        ]
        if len(self._tags) != len(self._labels_of_tags):
            raise ValueError("tags and labels differ in number")

    @cached_property
    def labels(self) -> List[str]:
        """The labels that the tagger knows, sorted."""
        return sorted({label for label in self._labels_of_tags if label is not None})

    @property
    def splitting(self) -> str:
        """How texts are split into tokens, such as `blanks`, `words`, or the rules of a language."""
        language = self._splitting.get("language")
        return f"the rules of `{language}`" if language else str(self._splitting["type"])

    def run(
        self, sentences: Sequence[Sequence[str]], leak_labels: Sequence[str] = ()
    ) -> Dict[str, np.ndarray]:
        """Runs the file's graph on one batch.

        Args:
            sentences: The tokens of B sentences, with 1 to T tokens each; or recordings, (T, D).
            leak_labels: The labels for `leak_probability` and `expected_missed`.

        Returns:
            The graph's outputs by name, (B,), (B, T) or (B, T, K), such as `tags`; see
            `tagger.integrations.onnx.exported`. `marginals` are undefined in the padding.
        """
        if self._numbers:
            inputs = padded_numbers(sentences)  # type: ignore[arg-type]
        else:
            words, rows, lengths = distinct_words(sentences)
            inputs = {"words": rows, "lengths": lengths}
        for indexer in self._indexers:
            inputs.update(indexer(words, rows, lengths))
        if self._leak_labels:
            inputs["leak_labels"] = np.array([each in leak_labels for each in self._leak_labels])
        return dict(zip(self._outputs, self._session.run(self._outputs, inputs)))

    def __repr__(self) -> str:
        return (
            f"<OnnxTagger {self._name}: {', '.join(self.labels)}; texts split by {self.splitting}>"
        )

    def _tag_all(self, inputs: List[TextOrTokens], extras: Extras) -> List[TaggedText]:
        self._check(extras)
        texts = [self._sentences(each) for each in inputs]
        predictions = iter(self._predict(list(itertools.chain(*texts)), extras))
        return [
            self._tagged_text(text, list(itertools.islice(predictions, len(text))), extras)
            for text in texts
        ]

    def _predict(self, sentences: Sequence[Sentence], extras: Extras) -> List[Prediction]:
        """Returns a prediction for each sentence, which may be empty."""
        leaks = 0.0 if extras.leak_labels else None
        nothing = Prediction(tags=[], leak_probability=leaks, expected_missed=leaks)
        results = [nothing] * len(sentences)
        lengths = np.array([len(sentence.words) for sentence in sentences])
        full = np.flatnonzero(lengths)
        for part in batches_within(lengths[full], _BATCH_TOKENS):
            outputs = self.run([sentences[index].words for index in full[part]], extras.leak_labels)
            for row, index in enumerate(full[part]):
                first, sentence = row * self._num_chains, sentences[index]
                of_chains = [
                    self._prediction(
                        len(sentence.words),
                        {name: values[first + chain] for name, values in outputs.items()},
                        extras,
                    )
                    for chain in range(self._num_chains)
                ]
                found = of_chains[0] if self._num_chains == 1 else merged_chains(of_chains)
                is_text = isinstance(sentence, Text)
                results[index] = found if is_text else found.of_tokens(sentence.own)
        return results

    def _tagged_text(
        self, sentences: Sequence[Sentence], predictions: Sequence[Prediction], extras: Extras
    ) -> TaggedText:
        """Builds the result for a text from those of its sentences."""
        found = predictions[0] if len(predictions) == 1 else merged_pieces(predictions)
        places = [each for each in sentences if isinstance(each, Text)]
        if places:
            words = [word for each in places for word in each.words]
            starts = [start for each in places for start in each.starts]
            found = places[0]._replace(words=words, starts=starts).locate(found)
        return TaggedText.of(found, extras, self.labels)

    def _check(self, extras: Extras) -> None:
        """Raises a `ValueError` if the tagger does not support what is asked for."""
        if extras.candidates is not None:
            raise ValueError(
                "an exported tagger lists no `candidates`; `tagger.load` of its archive does"
            )
        if self._numbers and extras.leak_labels:
            raise ValueError("`leak_labels` needs texts; this tagger reads numbers; leave it out")
        unknown = [label for label in extras.leak_labels if label not in self._leak_labels]
        if unknown and not self._leak_labels:
            raise ValueError(
                "`leak_labels` needs tags that spell entities, and those of this tagger do not; leave "
                "it out"
            )
        if unknown:
            raise ValueError(
                f"`leak_labels` names `{unknown[0]}`, which is no label of this tagger "
                f"({', '.join(self._leak_labels)})"
            )

    def _sentences(self, text_or_tokens: TextOrTokens) -> Sequence[Sentence]:
        """Splits a text into one or more sentences, which may be empty."""
        if self._numbers:
            numbers = check_numbers(text_or_tokens, self._numbers[0])
            places = windows(max(1, len(numbers)), *self._numbers[1:])
            return [Steps(numbers[each.first : each.end], each.own) for each in places]
        if not isinstance(text_or_tokens, str):
            return [Text.of_words(text_or_tokens)]
        found = self._split(text_or_tokens)
        starts = [token.start for token in found]
        lengths = sentence_lengths(text_or_tokens, starts, self._max_sentence_tokens)
        rest = iter(found)
        parts = [list(itertools.islice(rest, length)) for length in lengths or [0]]
        return [
            Text(
                text_or_tokens,
                [word for word, _ in part],
                [start for _, start in part],
                [len(part)],
            )
            for part in parts
        ]

    def _prediction(
        self, length: int, outputs: Dict[str, np.ndarray], extras: Extras
    ) -> Prediction:
        """Reads the graph's outputs for a sentence, (), (T,) or (T, K)."""
        found: Dict[str, Any] = {}
        if self._has_label_sets:
            rows = outputs["labels"][:length].tolist()
            found["labels"] = [[tag for tag, has in zip(self._tags, row) if has] for row in rows]
        else:
            found["tags"] = [self._tags[index] for index in outputs["tags"][:length].tolist()]
        if "entity_lasts" in outputs:
            # IOB1 has no entity probabilities.
            of_entities = outputs.get("entity_probabilities", np.array([])).tolist()
            found["entities"] = [
                Entity.of_tokens(
                    self._labels_of_tags[outputs["tags"][first]] or "",
                    first,
                    last,
                    of_entities[first] if of_entities else None,
                )
                for first, last in enumerate(outputs["entity_lasts"].tolist())
                if last >= 0
            ]
        if extras.probabilities:
            rows = outputs["marginals"][:length].tolist()
            found["probabilities"] = [dict(zip(self._tags, row)) for row in rows]
        if extras.leak_labels:
            for name in ("leak_probability", "expected_missed"):
                found[name] = outputs[name].item()
        return Prediction(**found)


def load(
    path: Union[str, Path], *, num_threads: int = 0, run_characters: Optional[int] = RUN_CHARACTERS
) -> OnnxTagger:
    """Loads a tagger exported with `allennlp export`.

    Args:
        path: The file, such as `tagger.onnx`.
        num_threads: The number of threads for a batch; 0 for one per core.
        run_characters: The most characters in a row without white space that a text may have; None for
            no limit. The time of the rules that split texts grows with the square of this number.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file was not written by `allennlp export`, or has been changed since.
    """
    import onnxruntime

    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: there is no such file; `allennlp export` writes one")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = num_threads
    try:
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime raises many types of errors without a common base.
        raise ValueError(
            f"{path}: expected a file of `allennlp export`; onnxruntime says {str(error)[:200]}"
        ) from error
    # Files of earlier versions have no checksum.
    has_checksum = checksum.KEY in session.get_modelmeta().custom_metadata_map
    if has_checksum and not checksum.is_whole(path):
        raise ValueError(
            f"{path} has been changed since `allennlp export` wrote it; copy it, or export it, again"
        )
    return OnnxTagger(session, str(path), run_characters)
