"""Soft labels: the marginals of sentences under a saved tagger.

Letters: `S` sentences, `L` tokens of the longest, `K` tags.
"""

import itertools
from typing import Any, Dict, Iterable, Iterator, List, Tuple, cast

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import lazy_groups_of
from allennlp.data import Batch, Instance
from allennlp.models import Model
from allennlp.nn.util import get_text_field_mask, move_to_device

from tagger.common.ranges import check_number
from tagger.data.soft_labels import SoftLabels
from tagger.linear_chain import ChainMarginals, ChainScores, chain_marginals
from tagger.models.sequence_tagger_ensemble import SequenceTaggerEnsemble
from tagger.models.tagging_model import TaggingModel, chain_of, spell_model
from tagger.modules.sentence_rows import SentenceRows

# How many batches are sorted by length together.
_BATCHES_IN_MEMORY = 64


def soft_labels_of(
    model: Model, instances: Iterable[Instance], batch_size: int = 64, temperature: float = 1.0
) -> SoftLabels:
    """Computes the marginals of a teacher for all sentences, in the order of the instances.

    Args:
        model: A sequence tagger with a head `crf` or `softmax`, or an ensemble of these. For an
            ensemble that averages marginals, the soft labels are the means of its members' marginals.
        instances: The sentences, or documents if the teacher has learnt from documents. Their gold tags
            are ignored.
        batch_size: The number of instances at a time.
        temperature: What the teacher's scores are divided by. Above 1 its distributions are softer.
    """
    chain = chain_of(model)
    if chain is None or chain.labels_of_rows:
        raise ConfigurationError(
            f"a teacher must be a `sequence_tagger` with the head `crf` or `softmax`, or an ensemble of "
            f"such; got {spell_model(model)}"
        )
    check_number("temperature", temperature, temperature > 0, "a positive number")
    tagger = cast(TaggingModel, model).eval()
    sentences: List[List[str]] = []
    tags: List[np.ndarray] = []
    transitions: List[np.ndarray] = []
    sizes: List[int] = []
    for document in _taught(tagger, instances, batch_size, temperature):
        sizes.append(len(document))
        for words, marginals in document:
            sentences.append(words)
            tags.append(marginals.tags[: len(words)].numpy())
            transitions.append(marginals.transitions.numpy())
    if not sentences:
        raise ConfigurationError("there is no sentence to label")
    arrays = np.concatenate(tags), np.stack(transitions)
    return SoftLabels(tagger.tags, sentences, *arrays, sizes)


@torch.no_grad()
def _taught(
    model: TaggingModel, instances: Iterable[Instance], batch_size: int, temperature: float
) -> Iterator[List[Tuple[List[str], ChainMarginals]]]:
    """Yields each instance's sentences, and their marginals in float16."""
    device = next(model.parameters()).device
    for some in lazy_groups_of(instances, _BATCHES_IN_MEMORY * batch_size):
        # Batches of similar lengths need little padding.
        order = sorted(range(len(some)), key=lambda index: len(some[index]["tokens"]))
        found: Dict[int, Any] = {}
        for group in lazy_groups_of(order, batch_size):
            batch = Batch([_without_gold(some[index]) for index in group])
            batch.index_instances(model.vocab)
            tensors: Dict[str, Any] = move_to_device(batch.as_tensor_dict(), device)
            mask = get_text_field_mask(tensors["tokens"])
            rows = model.sentence_rows(
                mask, tensors.get("sentence_lengths"), tensors.get("word_ids")
            )
            marginals = _marginals(model, tensors["tokens"], mask, rows, temperature)
            marginals = ChainMarginals(*(each.half().cpu() for each in marginals))
            lengths = rows.mask.sum(1).tolist()
            for row, document in enumerate(rows.documents.tolist()):
                own = ChainMarginals(*(each[row] for each in marginals))
                found.setdefault(group[document], []).append((own, lengths[row]))
        for index, instance in enumerate(some):
            words = iter(instance["metadata"]["words"])  # type: ignore[index]
            yield [(list(itertools.islice(words, length)), own) for own, length in found[index]]


def _marginals(
    model: TaggingModel, tokens: Any, mask: torch.Tensor, rows: SentenceRows, temperature: float
) -> ChainMarginals:
    """The marginals of the sentences of a batch; S rows."""
    if isinstance(model, SequenceTaggerEnsemble) and model.average == "marginals":
        by_member = [
            _marginals(cast(TaggingModel, member), tokens, mask, rows, temperature)
            for member in model.members
        ]
        return ChainMarginals(*(torch.stack(each).mean(0) for each in zip(*by_member)))
    chain = chain_of(model)
    assert chain is not None
    scores = chain.chain_scores(model.emissions(tokens, mask, rows).float())
    return chain_marginals(ChainScores(*(each / temperature for each in scores)), rows.mask)


def _without_gold(instance: Instance) -> Instance:
    """An instance without its tags, some of which the teacher may not know."""
    return Instance({name: field for name, field in instance.fields.items() if name != "tags"})
