"""The new tagger as it starts, and what it learns of the old labels.

`make_student` gives it the old tagger's weights, `teach` puts what the old tagger makes of new sentences
beside their tags.
"""

import shutil
from pathlib import Path
from typing import Any, Callable, Dict, Sequence, cast

import torch
from allennlp.common import Params
from allennlp.common.util import lazy_groups_of
from allennlp.data import Batch, Instance, Vocabulary
from allennlp.data.fields import TensorField
from allennlp.models import Model
from allennlp.models.model import remove_keys_from_params
from allennlp.nn.util import get_text_field_mask
from torch.nn.functional import pad

from tagger.labels.new_labels import with_new_rows, with_new_tags
from tagger.linear_chain import chain_marginals
from tagger.models import SequenceTagger
from tagger.modules.heads import CrfHead

_BATCH_SIZE = 32


def make_student(
    teacher: SequenceTagger, labels: Sequence[str], params: Params, folder: Path
) -> SequenceTagger:
    """Returns a tagger with the teacher's weights and with new labels."""
    namespace, encoding = teacher.label_namespace, cast(str, teacher.tag_encoding)
    vocab = with_new_tags(teacher.vocab, namespace, labels, encoding)
    shutil.rmtree(folder / "vocabulary", ignore_errors=True)
    vocab.save_to_files(str(folder / "vocabulary"))
    model_params = params.pop("model")
    remove_keys_from_params(model_params)
    student = cast(
        SequenceTagger,
        Model.from_params(vocab=vocab, params=model_params, serialization_dir=str(folder)),
    )
    weights, own = teacher.state_dict(), student.state_dict()
    names = [
        name
        for name in own
        if name.startswith(("projection.", "head.crf."))
        and name in weights
        and weights[name].shape != own[name].shape
        and not name.endswith("_constraint_mask")
    ]
    grown = with_new_rows(weights, names, teacher.tags, student.tags)
    constraints = "head.crf._constraint_mask"
    student.load_state_dict({**{name: grown[name] for name in own}, constraints: own[constraints]})
    num_old = len(teacher.tags)
    cast(CrfHead, student.head).untaught = torch.arange(len(student.tags)) >= num_old
    return student


@torch.no_grad()
def teach(
    teacher: SequenceTagger,
    vocab: Vocabulary,
    instances: Sequence[Instance],
) -> None:
    """Puts beside the tags of instances what the teacher makes of their sentences.

    Args:
        teacher: The old tagger.
        vocab: The vocabulary with the new tags.
        instances: The sentences, with the sets of tags that their tokens may have.
    """
    teacher.eval()
    head = cast(CrfHead, teacher.head)
    num_new = vocab.get_vocab_size(teacher.label_namespace) - len(teacher.tags)
    for group in lazy_groups_of(instances, _BATCH_SIZE):
        batch = Batch(group)
        batch.index_instances(vocab)
        tensors: Dict[str, Any] = batch.as_tensor_dict()
        mask, lengths = get_text_field_mask(tensors["tokens"]), tensors.get("sentence_lengths")
        rows = teacher.sentence_rows(mask, lengths, tensors.get("word_ids"))
        scores = head.chain_scores(teacher.emissions(tensors["tokens"], mask, rows).float())
        marginals = chain_marginals(scores, rows.mask)
        # The new tags come last.
        tags = rows.join(pad(marginals.tags, (0, num_new)))
        transitions = pad(marginals.transitions, (0, num_new, 0, num_new))
        for number, instance in enumerate(group):
            own = transitions[rows.documents == number]
            instance.add_field("soft_tags", TensorField(tags[number, : mask[number].sum()]))
            instance.add_field("soft_transitions", TensorField(own[0] if lengths is None else own))


#: The type of `teach`.
Teach = Callable[[SequenceTagger, Vocabulary, Sequence[Instance]], None]
