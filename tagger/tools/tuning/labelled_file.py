"""Prepares a decoding tuner from a saved tagger and a file with gold tags."""

import copy
from typing import Any, Dict, Iterator, List, Sequence, Tuple, cast

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import lazy_groups_of
from allennlp.data import Batch as InstanceBatch, DatasetReader, Instance
from allennlp.models import Model
from allennlp.nn.util import get_text_field_mask, move_to_device

from tagger.linear_chain.declared import declare_right_padded
from tagger.models import TaggingModel
from tagger.models.tagging_model import chain_of, spell_model
from tagger.modules.heads import Chain
from tagger.modules.sentence_rows import SentenceRows
from tagger.spans import AMBIGUOUS
from tagger.spans.finding import UNKNOWN, certain_tags
from tagger.tools.tuning.decoding import DecodingTuner, RowBatch, Settings


def tuner_on_file(
    model: Model, reader: DatasetReader, path: str, batch_size: int = 64, in_order: bool = False
) -> DecodingTuner:
    """Like `decoding_tuner`, on the sentences of a file."""
    tuned_model(model)
    return decoding_tuner(model, read_instances(reader, path), batch_size, in_order)


def decoding_tuner(
    model: Model, instances: Sequence[Instance], batch_size: int = 64, in_order: bool = False
) -> DecodingTuner:
    """Returns a tuner with a copy of a model's head that uses the chain's own probabilities.

    `in_order` keeps the order of the sentences, which is slower.
    """
    model = tuned_model(model)
    if not in_order:
        # Sentences of similar lengths are batched together, to reduce padding.
        instances = sorted(instances, key=lambda instance: len(instance["tokens"]))
    batches = [batch for batch, _, _ in encoded(model, instances, batch_size)]
    head = copy.deepcopy(model.head).as_chain()
    assert head is not None
    assert model.tag_encoding is not None
    head.recalibration = None
    return DecodingTuner(head, model.tags, model.tag_encoding, batches, head.rows_per_sentence)


def tuned_model(model: Model) -> TaggingModel:
    """Returns the model; refuses one without probabilities of entities."""
    has_chain = isinstance(model, TaggingModel) and chain_of(model) is not None
    if not has_chain or model.tag_encoding in (None, *AMBIGUOUS):
        raise ConfigurationError(
            f"`archive_file` must hold a `sequence_tagger` with the head `crf`, `softmax` or "
            f"`label_chains`, and tags that spell entities in BIO, BIOUL, BMES or IOBES; got "
            f"{spell_model(model)}"
        )
    return cast(TaggingModel, model)


def tuned_chain(model: Model) -> Tuple[TaggingModel, Chain]:
    """Returns what `tuned_model` does, and the chain of the rows that `encoded` yields."""
    model = tuned_model(model)
    chain = chain_of(model)
    assert chain is not None
    return model, chain


def settings_of(model: Model) -> Settings:
    """Returns the decoder settings of a model that `decoding_tuner` accepts."""
    _, chain = tuned_chain(model)
    return Settings(chain.decoder.decode_bias, chain.decoder.entity_thresholds)


def read_instances(reader: DatasetReader, path: str) -> List[Instance]:
    """Reads a file."""
    instances = list(reader.read(path))
    if not instances:
        raise ConfigurationError(f"`input_file` {path} has no sentences")
    return instances


def encoded(
    model: TaggingModel, instances: Sequence[Instance], batch_size: int
) -> Iterator[Tuple[RowBatch, SentenceRows, Dict[str, Any]]]:
    """Yields batches of instances, their rows, and their indexed tokens.

    Puts the model into evaluation mode. Instances without tags get unknown ones. A batch holds the rows
    that the model's chain takes: with the head `label_chains`, one for each label of a sentence.
    """
    model.eval()
    chain = chain_of(model)
    assert chain is not None
    device = next(model.parameters()).device
    for group in lazy_groups_of(iter(instances), batch_size):
        batch = InstanceBatch(group)
        batch.index_instances(model.vocab)
        tensors: Dict[str, Any] = batch.as_tensor_dict()
        gold_tags = tensors.pop("tags", None)
        tensors = move_to_device(tensors, device)
        mask = declare_right_padded(get_text_field_mask(tensors["tokens"]))
        rows = model.sentence_rows(mask, tensors.get("sentence_lengths"), tensors.get("word_ids"))
        with torch.no_grad():
            emissions = model.emissions(tensors["tokens"], mask, rows).float()
        if gold_tags is None:
            shape = (*mask.shape, len(model.tags)) if chain.labels_of_rows else mask.shape
            gold_tags = torch.full(shape, UNKNOWN)
        elif not chain.labels_of_rows:
            gold_tags = torch.from_numpy(certain_tags(gold_tags.numpy()))
        batch_of_rows = RowBatch(emissions, rows.split(gold_tags.to(device)), rows.mask)
        if chain.labels_of_rows:
            with torch.no_grad():
                emissions, gold, row_mask = chain.as_rows(*batch_of_rows)
            gold = torch.from_numpy(certain_tags(gold.cpu().numpy())).to(device)
            batch_of_rows = RowBatch(emissions, gold, declare_right_padded(row_mask.contiguous()))
        yield batch_of_rows, rows, tensors["tokens"]
