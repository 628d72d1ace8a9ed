"""Imports a Hugging Face token classifier as a tagger of this project."""

import tagger.common.needs_allennlp  # noqa: F401

# isort: split
import tempfile
from itertools import product
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Union, cast

import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.meta import META_NAME, Meta
from allennlp.data import Batch, Vocabulary
from allennlp.models import Archive, Model, load_archive
from allennlp.models.archival import CONFIG_NAME, archive_model
from allennlp.models.model import _DEFAULT_WEIGHTS
from torch.nn.functional import pad

from tagger.common.files import write_atomically
from tagger.integrations.huggingface.classifier_parts import (
    Parts,
    loaded_classifier,
    parts_of,
    quiet_library,
)
from tagger.integrations.huggingface.folder_guard import errors_in_one_sentence
from tagger.integrations.huggingface.tag_reading import TagReading, names_of_tags, read_tags
from tagger.integrations.huggingface.transition_biases import transition_biases
from tagger.models import SequenceTagger
from tagger.modules.encoders.transformer_head import TransformerHead
from tagger.predictors.saved_tagger import SavedTagger, load
from tagger.spans import labels_of_tags
from tagger.spans.encodings import join_tag
from tagger.transformers.windows import longest_window
from tagger.transformers.word_pieces import special_pieces
from tagger_compat.archive_guard import shortened

#: The most pieces in a window if the transformer sets no limit.
_MOST_PIECES = 512
#: The score of a tag that the encoding needs but the classifier does not have.
_UNKNOWN_TAG_SCORE = -100.0
#: The largest accepted difference between the imported emissions and the classifier's logits.
_TOLERANCE = 1e-4
_TRIAL = ["Ada", "Lovelace", "lived", "in", "London", "unbelievably", "1815", "-", "1852", "."]


class Imported(NamedTuple):
    """What was imported.

    Attributes:
        tags: The tags of the tagger.
        encoding: How they spell entities; None for plain labels.
        difference: How far emissions and logits differ on trial texts.
        left_out: Tags of the classifier that no word has.
        is_io: Whether the classifier has labels without prefixes, of which each became two tags.
    """

    tags: List[str]
    encoding: Optional[str]
    difference: float
    left_out: List[str]
    is_io: bool


def import_tagger(
    name_or_path: Union[str, Path],
    output: Path,
    language: str = "en",
    transition_bias: Optional[Path] = None,
    overwrite: bool = False,
) -> Imported:
    """Writes an archive that uses a token classifier's logits, at each word's first piece, as emissions.

    The archive has the head `crf`, which allows only legal sequences of the tags' encoding. Transition
    scores are 0 unless the model itself has a CRF or `transition_bias` gives them. Raises a
    `ConfigurationError` unless the model is a transformer with a single linear layer above it.

    Args:
        name_or_path: A folder, or a name in the local cache of the Hugging Face hub.
        output: The archive to write.
        language: The language (spaCy code) to split texts into words with.
        transition_bias: A file with six transition scores; see `transition_biases`.
        overwrite: Whether the output may exist.
    """
    name = str(name_or_path)
    with tempfile.TemporaryDirectory() as folder, errors_in_one_sentence(name), quiet_library():
        classifier, tokenizer = loaded_classifier(name)
        reading = read_tags(names_of_tags(classifier.config.id2label))
        source = _Source(classifier, tokenizer, parts_of(classifier), reading)
        backbone = Path(folder, Path(name).resolve().name)
        _save_backbone(source, backbone)
        run = Path(folder, "run")
        run.mkdir()
        num_special = sum(map(len, special_pieces(tokenizer)))
        config = Params(_config(backbone.name, source, language, num_special))
        config.to_file(str(run / CONFIG_NAME))
        model = _built(config, source, backbone, run)
        _fill(model, source, transition_bias)
        with write_atomically(output, overwrite) as path:
            _archive(model, run, path)
            # What is compared is what others will load.
            difference = _checked_difference(_loaded(path, name), source)
    return Imported(reading.tags, reading.encoding, difference, reading.left_out, reading.is_io)


class _Source(NamedTuple):
    """A token classifier, its tokenizer, its parts, and the meaning of its tags."""

    classifier: Any
    tokenizer: Any
    parts: Parts
    reading: TagReading


def _save_backbone(source: _Source, folder: Path) -> None:
    """Saves the transformer and its tokenizer."""
    backbone = source.parts.backbone
    # T5's classifier sets this to false in the config of its encoder, which would no longer load.
    if type(backbone.config)().is_encoder_decoder:
        backbone.config.is_encoder_decoder = True
    backbone.save_pretrained(folder)
    source.tokenizer.save_pretrained(folder)


def _built(config: Params, source: _Source, backbone: Path, run: Path) -> SequenceTagger:
    """Builds the tagger that the archive's config describes, with the weights of its transformer."""
    params = config["model"].duplicate()
    params["text_field_embedder"]["token_embedders"]["tokens"]["model_name"] = str(backbone)
    vocab = Vocabulary(non_padded_namespaces=["labels"])
    vocab.add_tokens_to_namespace(source.reading.tags, "labels")
    made = Model.from_params(params=params, vocab=vocab, serialization_dir=str(run))
    return cast(SequenceTagger, made).eval()


def _archive(model: SequenceTagger, run: Path, path: Path) -> None:
    """Archives a model and the config in the run's folder."""
    model.vocab.save_to_files(str(run / "vocabulary"))
    Meta.new().to_file(run / META_NAME)
    torch.save(model.state_dict(), run / _DEFAULT_WEIGHTS)
    archive_model(run, archive_path=path)


def _loaded(path: Path, name: str) -> Archive:
    try:
        return load_archive(path)
    except ConfigurationError as error:
        text = str(error).replace(str(path), "the archive")
        raise ConfigurationError(
            f"{name}: this model cannot be imported, since its archive could not be loaded; "
            f"{shortened(text, 300)}"
        ) from error


def from_hugging_face(
    name_or_path: Union[str, Path],
    *,
    language: str = "en",
    transition_bias: Optional[Union[str, Path]] = None,
    cuda_device: int = -1,
) -> SavedTagger:
    """Loads a token classifier from the Hugging Face hub as a tagger of this project.

    It works like a tagger from `tagger.load`, with legal entities, exact probabilities, thresholds and
    candidates. `allennlp import-hf` writes the same tagger as an archive for all commands.

    Arguments and errors are those of `import_tagger`; `cuda_device` is the number of the GPU, or -1 for
    the CPU.
    """
    bias = None if transition_bias is None else Path(transition_bias)
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder, "model.tar.gz")
        import_tagger(name_or_path, archive, language, bias)
        return load(archive, cuda_device=cuda_device)


def _config(name: str, source: _Source, language: str, num_special: int) -> Dict[str, Any]:
    """Returns the archive's config; windows leave room for `num_special` special pieces."""
    parts, encoding = source.parts, source.reading.encoding
    room = min(longest_window(parts.backbone.config) or _MOST_PIECES, _MOST_PIECES)
    encoder: Dict[str, Any] = {"type": "pass_through"}
    if parts.head is not None:
        settings = parts.backbone.config
        encoder = {
            "type": "transformer_head",
            "input_dim": settings.hidden_size,
            "activation": settings.classifier_activation,
            "bias": settings.classifier_bias,
            "norm_bias": settings.norm_bias,
            "norm_eps": settings.norm_eps,
        }
    # The archive refers to its transformer by this name.
    transformer = {"type": "transformer", "model_name": name}
    return {
        "dataset_reader": {
            "type": "column",
            "source_encoding": "auto" if source.reading.is_io else encoding,
            "tag_encoding": encoding,
            **({} if language == "en" else {"language": language}),
            "token_indexers": {"tokens": {**transformer, "max_pieces": room - num_special}},
        },
        "model": {
            "type": "sequence_tagger",
            "text_field_embedder": {
                "token_embedders": {"tokens": {**transformer, "pooling": "first"}}
            },
            "encoder": encoder,
            "head": {"type": "crf"},
            **({} if encoding is None else {"tag_encoding": encoding}),
            "loss_reduction": "token",
        },
        "data_loader": {"type": "bucketed", "max_tokens": 4096, "shuffle": False},
    }


@torch.no_grad()
def _fill(model: SequenceTagger, source: _Source, transition_bias: Optional[Path]) -> None:
    """Copies the classifier's weights into the tagger and sets its CRF's transition scores."""
    parts, rows = source.parts, source.reading.rows
    num_tags = len(rows)
    if parts.head is not None:
        encoder = cast(TransformerHead, model.encoder)
        encoder.dense.load_state_dict(parts.head.dense.state_dict())
        encoder.norm.load_state_dict(parts.head.norm.state_dict())
    # The annotations of the library do not cover all attributes.
    projection, crf = model.projection, cast(Any, model.head).crf
    # Tags that the encoding needs but the classifier does not have come last.
    projection.weight.zero_()
    projection.bias.fill_(_UNKNOWN_TAG_SCORE)
    projection.weight[:num_tags] = parts.linear.weight[rows]
    projection.bias[:num_tags] = 0 if parts.linear.bias is None else parts.linear.bias[rows]
    for parameter in (crf.transitions, crf.start_transitions, crf.end_transitions):
        parameter.zero_()
    if source.reading.is_io:
        labels = labels_of_tags(model.tags)
        for (i, before), (j, tag) in product(enumerate(labels), enumerate(model.tags)):
            if before is not None and tag == join_tag("B", before):
                crf.transitions[i, j] = _UNKNOWN_TAG_SCORE
    if parts.crf is not None:
        crf.transitions[:num_tags, :num_tags] = parts.crf.transitions[rows][:, rows]
        crf.start_transitions[:num_tags] = parts.crf.start_transitions[rows]
        crf.end_transitions[:num_tags] = parts.crf.end_transitions[rows]
    if transition_bias is not None:
        crf.transitions += transition_biases(transition_bias, model.tags)


@torch.no_grad()
def _checked_difference(archive: Archive, source: _Source) -> float:
    """Returns how far emissions and logits differ on trial texts; raises if that is too far.

    The texts have several lengths, so that windows are padded by more or less.
    """
    model, reader = cast(SequenceTagger, archive.model.eval()), archive.dataset_reader
    indexer: Any = reader._token_indexers["tokens"]  # type: ignore[attr-defined]
    cut = indexer.word_pieces.joined
    trials = [_TRIAL[:length] for length in (1, 4, len(_TRIAL))]
    trials = [words for words in trials if len(cut(words)[0]) <= indexer.max_pieces] or trials[:1]
    difference = 0.0
    for words in trials:
        instance = reader.text_to_instance(words)
        reader.apply_token_indexers(instance)
        batch = Batch([instance])
        batch.index_instances(model.vocab)
        tokens: Any = batch.as_tensor_dict()["tokens"]
        emissions = model.emissions(tokens, tokens["tokens"]["mask"])[0]
        logits = _logits(source, words)[:, source.reading.rows]
        found = (emissions[:, : logits.size(1)] - logits).abs().max()
        difference = max(difference, float(found.nan_to_num(torch.inf)))
    if not difference < _TOLERANCE:
        name = type(source.classifier).__name__
        reason = "so this class computes more than its layers show"
        if _depends_on_padding(source, trials[-1]):
            reason = "since the logits of this class depend on the padding of a text"
        raise ConfigurationError(
            f"the emissions of the imported tagger differ from the logits of {name} by up to "
            f"{difference:.2g}, {reason}; it cannot be imported"
        )
    return difference


def _logits(source: _Source, words: Sequence[str]) -> torch.Tensor:
    """Returns the classifier's logits at the first piece of each word, (T, K)."""
    encoded = _pieces(source, words)
    word_of = encoded.word_ids(0)
    firsts = [word_of.index(word) for word in range(len(words))]
    logits: torch.Tensor = source.classifier(input_ids=encoded["input_ids"]).logits[0, firsts]
    return logits


def _depends_on_padding(source: _Source, words: Sequence[str]) -> bool:
    """Whether padding changes the classifier's logits of a text."""
    pieces = _pieces(source, words)["input_ids"]
    padded = pad(pieces, (0, 7), value=source.tokenizer.pad_token_id or 0)
    mask = pad(torch.ones_like(pieces), (0, 7))
    before = source.classifier(input_ids=pieces).logits
    after = source.classifier(input_ids=padded, attention_mask=mask).logits[:, : pieces.size(1)]
    return not torch.allclose(before, after, atol=_TOLERANCE)


def _pieces(source: _Source, words: Sequence[str]) -> Any:
    """Returns the pieces of words as they would stand in a text, each after a blank."""
    of_text, of_words = (
        source.tokenizer(each, is_split_into_words=isinstance(each, list))["input_ids"]
        for each in ("x x", ["x", "x"])
    )
    # Some tokenizers do not add the blanks that they have seen in texts.
    blank = "" if of_text == of_words else " "
    return source.tokenizer(
        [[blank + word for word in words]], is_split_into_words=True, return_tensors="pt"
    )
