"""The probabilities that a tagger gives to spans, predicted or not.

Letters: `B` instances, `T` tokens of the longest.
"""

from typing import List, Sequence

import numpy as np
import torch
from allennlp.data import Batch, Instance
from allennlp.nn.util import get_text_field_mask, move_to_device

from tagger.models import TaggingModel
from tagger.modules.heads import ChainHead
from tagger.spans import AMBIGUOUS, Span
from tagger.spans.entities import Entities, EntityFinder
from tagger.tools.reports.evaluation import BATCH_SIZE


@torch.no_grad()
def span_probabilities(
    model: TaggingModel, instances: Sequence[Instance], spans: Sequence[Sequence[Span]]
) -> List[List[float]]:
    """Returns the model's probabilities of spans, which it need not have predicted.

    Returns:
        The probabilities of each instance's spans; empty for a model that gives none.
    """
    head, encoding = model.head, model.tag_encoding
    if not isinstance(head, ChainHead) or encoding in (None, *AMBIGUOUS):
        return [[] for _ in spans]
    finder = EntityFinder(model.tags, encoding)
    found: List[List[float]] = []
    for start in range(0, len(instances), BATCH_SIZE):
        batch = Batch(instances[start : start + BATCH_SIZE])
        batch.index_instances(model.vocab)
        tensors = move_to_device(batch.as_tensor_dict(), next(model.parameters()).device)
        mask = get_text_field_mask(tensors["tokens"])
        rows = model.sentence_rows(mask, tensors.get("sentence_lengths"), tensors.get("word_ids"))
        # (B, T): the sentence of each token, and the token's place in it
        row_of, place_in = (
            rows.join(numbers.expand_as(rows.mask)).tolist()
            for numbers in (
                torch.arange(len(rows.mask), device=mask.device).unsqueeze(1),
                torch.arange(rows.mask.size(1), device=mask.device),
            )
        )
        of_batch = spans[start : start + BATCH_SIZE]
        columns = [
            (
                finder.labels.index(label or "_"),
                row_of[i][first],
                place_in[i][first],
                place_in[i][last],
            )
            for i, of_row in enumerate(of_batch)
            for label, (first, last) in of_row
        ]
        entities = Entities(*np.array(columns, dtype=np.int64).reshape(-1, 4).T)
        scores = head.chain_scores(model.emissions(tensors["tokens"], mask, rows))
        numbers = iter(finder.probabilities(scores, entities, rows.mask).tolist())
        found += [[next(numbers) for _ in of_row] for of_row in of_batch]
    return found
