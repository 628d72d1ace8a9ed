"""A trained tagger in Python: `tagger.load` reads an archive, `SavedTagger.tag` tags texts."""

import copy
import html
import itertools
from functools import cached_property
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Sequence, Union

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Tokenizer
from allennlp.models import Archive, load_archive

from tagger.common.lazy_names import collections_paused
from tagger.data.tokenizers import max_sentence_tokens_of
from tagger.models import TaggingModel
from tagger.models.tagging_model import chain_of, spell_model
from tagger.modules.chain_decoder import labels_with_bias
from tagger.predictors import SequenceTaggerPredictor
from tagger.predictors.calibrated_sets import set_thresholds
from tagger.spans import AMBIGUOUS, labels_of_tags
from tagger.transformers.pretrained import transformer_given
from tagger_texts.inputs import RUN_CHARACTERS
from tagger_texts.prediction import Entity
from tagger_texts.tagged_text import NO_EXTRAS, Extras, SetThresholds, TaggedText
from tagger_texts.text import Text
from tagger_texts.text_tagger import TextTagger

__all__ = ["Entity", "SavedTagger", "TaggedText", "TextOrTokens", "load"]

#: A text, a text with its tokens, or the tokens alone.
TextOrTokens = Union[str, Text, Sequence[str]]


class SavedTagger(TextTagger[Union[str, Text]]):
    """Tags texts with a trained model; use `tagger.load` to make one from an archive.

    Several threads may use a tagger at the same time, each with its own extras, and each gets the same
    results as alone. They gain little time, because one call already uses all of PyTorch's threads.

    Args:
        model: The model.
        dataset_reader: Makes instances from tokens.
        name: A display name, such as the archive's path.
        language: See `tagger.load`.
        run_characters: See `tagger.load`.

    Attributes:
        predictor: Reads inputs, and predicts without extras.
        labels: The labels that the model knows, sorted.
    """

    text_types = (str, Text)

    def __init__(
        self,
        model: TaggingModel,
        dataset_reader: DatasetReader,
        name: str,
        language: Optional[str] = None,
        run_characters: Optional[int] = RUN_CHARACTERS,
    ) -> None:
        self._name = name
        self._archive_file: Union[str, Path, None] = None
        self._sets: Union[SetThresholds, ConfigurationError, None] = None
        with collections_paused():  # This imports spaCy.
            self.predictor = SequenceTaggerPredictor(
                model, dataset_reader, language, run_characters=run_characters
            )

    @classmethod
    def of(
        cls,
        archive: Archive,
        name: str,
        language: Optional[str] = None,
        run_characters: Optional[int] = RUN_CHARACTERS,
    ) -> "SavedTagger":
        """Makes a tagger from a loaded archive, which must hold a sequence tagger."""
        model = archive.model
        if not isinstance(model, TaggingModel):
            raise ConfigurationError(
                f"{name}: expected a `sequence_tagger` or an ensemble of them; got "
                f"{spell_model(model)}; `allennlp.predictors.Predictor.from_path` loads any model"
            )
        return cls(model, archive.validation_dataset_reader, name, language, run_characters)

    @property
    def model(self) -> TaggingModel:
        """The model, in evaluation mode."""
        return self.predictor.model

    @property
    def run_characters(self) -> Optional[int]:  # type: ignore[override]
        return self.predictor.run_characters

    @property
    def step_size(self) -> Optional[int]:  # type: ignore[override]
        return self.predictor.step_size

    @property
    def max_sentence_tokens(self) -> Optional[int]:
        """Longer texts are split into sentences by rule; None to split none."""
        return max_sentence_tokens_of(self.predictor.dataset_reader)

    @cached_property
    def labels(self) -> List[str]:
        return sorted({label for label in labels_of_tags(self.model.tags) if label is not None})

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer for texts."""
        return self.predictor.tokenizer

    @property
    def tag_encoding(self) -> Optional[str]:
        """How tags spell entities; None for plain labels and for several labels per token."""
        return self.model.tag_encoding

    @property
    def finds_entities(self) -> bool:
        """Whether the tags spell entities."""
        return self.tag_encoding is not None

    @property
    def biases(self) -> Dict[str, float]:
        """The bias of each label, 0 by default; empty if the tagger has no biases."""
        chain = chain_of(self.model)
        if chain is None or self.tag_encoding in AMBIGUOUS:
            return {}
        labels = labels_with_bias(self.model.tags, self.tag_encoding)
        return {label: chain.decoder.decode_bias.get(label, 0.0) for label in labels}

    def split(self, text: str) -> Text:
        """Splits a text into tokens, as `tag` does; `tag` also accepts the result."""
        return self.predictor.split(text)

    def tag_document(
        self,
        document: Union[str, Sequence[TextOrTokens]],
        *,
        probabilities: bool = False,
        leak_labels: Sequence[str] = (),
        candidates: Optional[float] = None,
        sets: bool = False,
    ) -> TaggedText:
        """Tags the sentences of a document together.

        A tagger trained on documents uses the other sentences as context; others tag each sentence
        separately. `document` is either a text, which is split into sentences at punctuation and blank
        lines, or a list of sentences, each a text or a list of tokens. The other arguments and the
        errors are those of `tag`; what is missed is counted in the whole document.

        Returns:
            The document with its tags and entities; offsets and indices count from its start. Given
            sentences are joined by line feeds.
        """
        inputs = {"document" if isinstance(document, str) else "sentences": document}
        extras = self._extras_of(probabilities, leak_labels, candidates, sets)
        (prediction,) = self.predictor.of(extras).predict_inputs([inputs])
        return TaggedText.of(prediction, extras, self.labels)

    def with_bias(
        self, biases: Optional[Mapping[str, float]] = None, **more: float
    ) -> "SavedTagger":
        """Returns a tagger that finds entities of some labels more or less readily.

        It shares this tagger's weights. Probabilities stay the same.

        Args:
            biases: By label, the nats to add to the scores of tags that open an entity: positive finds
                more entities, negative fewer. It replaces the label's earlier bias.
            **more: The same, for labels that are Python names: `with_bias(PER=1.5)`.

        Raises:
            ConfigurationError: If a label is unknown, or the tagger has no biases because it decides
                each label independently.
        """
        return self._with_settings({**(biases or {}), **more}, {})

    def with_thresholds(
        self, thresholds: Optional[Mapping[str, float]] = None, **more: float
    ) -> "SavedTagger":
        """Returns a tagger that keeps entities of some labels only if they are probable enough.

        It shares this tagger's weights.

        Args:
            thresholds: By label, the lowest probability, from 0 to 1, of an entity; or of a label, if
                tokens may have several. It replaces the label's earlier threshold.
            **more: The same, for labels that are Python names.

        Raises:
            ConfigurationError: If a label is unknown, or a number is not from 0 to 1.
        """
        return self._with_settings({}, {**(thresholds or {}), **more})

    def __repr__(self) -> str:
        num_weights = sum(weights.numel() for weights in self.model.parameters())
        text = f"{self._name}: {', '.join(self.labels)}; {num_weights:,} weights"
        chain = chain_of(self.model)
        settings = vars(chain.decoder) if chain else {}
        for name in ("decode_bias", "entity_thresholds"):
            if settings.get(name):
                text += f"; {name} {settings[name]}"
        return f"<SavedTagger {text}>"

    def _repr_html_(self) -> str:
        return f"<code>{html.escape(repr(self))}</code>"

    def set_thresholds(self) -> SetThresholds:
        """Returns the thresholds of `sets`; raises a `ConfigurationError` if this tagger gives none."""
        # Read once, since it takes as long as unpacking the archive.
        if self._sets is None:
            try:
                self._sets = set_thresholds(self._archive_file, self.model)
            except ConfigurationError as error:
                self._sets = error
        if isinstance(self._sets, ConfigurationError):
            raise self._sets
        return self._sets

    def _tag_all(self, inputs: List[TextOrTokens], extras: Extras) -> List[TaggedText]:
        kinds = ("sentence" if isinstance(each, self.text_types) else "tokens" for each in inputs)
        if self.step_size is not None:
            kinds = ("numbers" for _ in inputs)
        predictions = self.predictor.of(extras).predict_inputs(
            [{kind: each} for kind, each in zip(kinds, inputs)]
        )
        return [TaggedText.of(prediction, extras, self.labels) for prediction in predictions]

    def _with_settings(
        self, biases: Mapping[str, float], thresholds: Mapping[str, float]
    ) -> "SavedTagger":
        model = _with_own_head(self.model)
        model.head.adjust(biases, thresholds)
        changed = copy.copy(self)
        changed.predictor = self.predictor.of(NO_EXTRAS, model)
        return changed


def load(
    path: Union[str, Path],
    *,
    language: Optional[str] = None,
    cuda_device: int = -1,
    run_characters: Optional[int] = RUN_CHARACTERS,
    transformer: Union[str, Path, None] = None,
) -> SavedTagger:
    """Loads a trained tagger.

    Args:
        path: An archive, such as `model.tar.gz`, or the folder of a training run.
        language: The spaCy code of a language; its rules split texts into tokens. None to split them
            like the training data.
        cuda_device: The number of the GPU to use; -1 for the CPU.
        run_characters: The longest run of characters without white space in a text; None for no limit.
            The time of the rules grows with its square.
        transformer: The folder of the frozen transformer that the tagger was trained with; None to
            search for it, see docs/how_to/transformers.md.

    Raises:
        FileNotFoundError: If the file does not exist.
        ConfigurationError: If the archive is rejected or holds no sequence tagger, if its transformer
            is wrong or cannot be found, or if spaCy has no such language.
    """
    with collections_paused(), transformer_given(transformer):
        archive = load_archive(path, cuda_device=cuda_device)
    found = SavedTagger.of(archive, str(path), language, run_characters)
    found._archive_file = path
    return found


def _with_own_head(model: TaggingModel) -> TaggingModel:
    """Copies a model so that its head can be changed; all weights and the rest are shared."""
    shared = itertools.chain([model.vocab], model.head.parameters(), model.head.buffers())
    copied = copy.copy(model)
    # A shallow copy shares the table of modules, so copy that too.
    copied._modules = dict(model._modules)
    copied.head = copy.deepcopy(model.head, {id(each): each for each in shared})
    return copied
