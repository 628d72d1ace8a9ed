"""Imports a Hugging Face token classifier as a tagger of this project."""

import tempfile
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Union, cast

import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.meta import META_NAME, Meta
from allennlp.data import Batch, DatasetReader, Vocabulary
from allennlp.models import Model
from allennlp.models.archival import CONFIG_NAME, archive_model
from allennlp.models.model import _DEFAULT_WEIGHTS

from tagger.common.files import write_atomically
from tagger.integrations.huggingface.classifier_parts import (
    Parts,
    encoding_of,
    loaded_classifier,
    parts_of,
    quiet_library,
)
from tagger.integrations.huggingface.transition_biases import transition_biases
from tagger.models import SequenceTagger
from tagger.modules.encoders import TransformerHead
from tagger.predictors.saved_tagger import SavedTagger, load
from tagger.transformers.archived import FINE_TUNED
from tagger.transformers.windows import longest_window
from tagger.transformers.word_pieces import special_pieces

#: The most pieces in a window if the transformer sets no limit.
_MOST_PIECES = 512
#: The score of a tag that the encoding needs but the classifier does not have.
_UNKNOWN_TAG_SCORE = -100.0
#: The largest accepted difference between the imported emissions and the classifier's logits.
_TOLERANCE = 1e-4
_TRIAL = ["Ada", "Lovelace", "lived", "in", "London", "unbelievably", "1815", "-", "1852", "."]


class Imported(NamedTuple):
    """A classifier's tags, their encoding, and how far emissions and logits differ on a trial text."""

    tags: List[str]
    encoding: Optional[str]
    difference: float


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
    with quiet_library():
        classifier, tokenizer = loaded_classifier(str(name_or_path))
    parts = parts_of(classifier)
    tags = [classifier.config.id2label[k] for k in range(len(classifier.config.id2label))]
    if len(set(tags)) < len(tags):
        raise ConfigurationError(
            f"{name_or_path}: expected distinct tags in `id2label`, got {tags}"
        )
    encoding = encoding_of(tags)
    with tempfile.TemporaryDirectory() as folder, quiet_library():
        backbone = Path(folder, Path(name_or_path).resolve().name)
        parts.backbone.save_pretrained(backbone)
        tokenizer.save_pretrained(backbone)
        run = Path(folder, "run")
        run.mkdir()
        num_special = sum(map(len, special_pieces(tokenizer)))
        config = Params(_config(backbone.name, parts, encoding, language, num_special))
        config.to_file(str(run / CONFIG_NAME))
        for transformer in (
            config["dataset_reader"]["token_indexers"]["tokens"],
            config["model"]["text_field_embedder"]["token_embedders"]["tokens"],
        ):
            transformer["model_name"] = str(backbone)
        vocab = Vocabulary(non_padded_namespaces=["labels"])
        vocab.add_tokens_to_namespace(tags, "labels")
        where = str(run)
        params = config["model"].duplicate()
        made = Model.from_params(params=params, vocab=vocab, serialization_dir=where)
        model = cast(SequenceTagger, made).eval()
        _fill(model, parts, tags, transition_bias)
        params = config["dataset_reader"].duplicate()
        reader = DatasetReader.from_params(params, serialization_dir=where)
        difference = _checked_difference(model, reader, classifier, tokenizer)
        with write_atomically(output, overwrite) as path:
            _archive(model, run, path)
    return Imported(tags, encoding, difference)


def _archive(model: SequenceTagger, run: Path, path: Path) -> None:
    """Archives a model and the config in the run's folder."""
    model.vocab.save_to_files(str(run / "vocabulary"))
    Meta.new().to_file(run / META_NAME)
    torch.save(model.state_dict(), run / _DEFAULT_WEIGHTS)
    archive_model(run, archive_path=path, include_in_archive=[FINE_TUNED])


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


def _config(
    name: str, parts: Parts, encoding: Optional[str], language: str, num_special: int
) -> Dict[str, Any]:
    """Returns the archive's config; windows leave room for `num_special` special pieces."""
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
            "source_encoding": encoding,
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
        "include_in_archive": [FINE_TUNED],
    }


@torch.no_grad()
def _fill(
    model: SequenceTagger, parts: Parts, tags: Sequence[str], transition_bias: Optional[Path]
) -> None:
    """Copies the classifier's weights into the tagger and sets its CRF's transition scores."""
    num_tags = len(tags)
    if parts.head is not None:
        encoder = cast(TransformerHead, model.encoder)
        encoder.dense.load_state_dict(parts.head.dense.state_dict())
        encoder.norm.load_state_dict(parts.head.norm.state_dict())
    # The annotations of the library do not cover all attributes.
    projection, crf = model.projection, cast(Any, model.head).crf
    # Tags that the encoding needs but the classifier does not have come last.
    projection.weight.zero_()
    projection.bias.fill_(_UNKNOWN_TAG_SCORE)
    projection.weight[:num_tags] = parts.linear.weight
    projection.bias[:num_tags] = 0 if parts.linear.bias is None else parts.linear.bias
    for parameter in (crf.transitions, crf.start_transitions, crf.end_transitions):
        parameter.zero_()
    if parts.crf is not None:
        crf.transitions[:num_tags, :num_tags] = parts.crf.transitions
        crf.start_transitions[:num_tags] = parts.crf.start_transitions
        crf.end_transitions[:num_tags] = parts.crf.end_transitions
    if transition_bias is not None:
        crf.transitions += transition_biases(transition_bias, model.tags)


@torch.no_grad()
def _checked_difference(
    model: SequenceTagger, reader: DatasetReader, classifier: Any, tokenizer: Any
) -> float:
    """Returns the difference between emissions and logits on a trial text; raises if it is too large."""
    room = reader._token_indexers["tokens"].max_pieces  # type: ignore[attr-defined]
    words = _TRIAL
    while len(words) > 1 and len(_pieces(tokenizer, words)["input_ids"][0]) > room:
        words = words[:-1]
    instance = reader.text_to_instance(words)
    reader.apply_token_indexers(instance)
    batch = Batch([instance])
    batch.index_instances(model.vocab)
    tokens: Any = batch.as_tensor_dict()["tokens"]
    emissions = model.emissions(tokens, tokens["tokens"]["mask"])[0]
    encoded = _pieces(tokenizer, words)
    word_of = encoded.word_ids(0)
    firsts = [word_of.index(word) for word in range(len(words))]
    logits = classifier(input_ids=encoded["input_ids"]).logits[0, firsts]
    difference = float((emissions[:, : logits.size(1)] - logits).abs().max())
    if not difference < _TOLERANCE:
        raise ConfigurationError(
            f"the emissions of the imported tagger differ from the logits of "
            f"{type(classifier).__name__} by up to {difference:.2g}, so this class computes more than "
            "its layers show; it cannot be imported"
        )
    return difference


def _pieces(tokenizer: Any, words: Sequence[str]) -> Any:
    return tokenizer([list(words)], is_split_into_words=True, return_tensors="pt")
