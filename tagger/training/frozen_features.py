"""Computes the features of frozen transformers before training starts."""

from typing import Any, Dict, Iterable, Iterator, Tuple

from allennlp.data import Instance, Vocabulary
from allennlp.data.fields import TextField
from allennlp.models import Model
from allennlp.modules import TextFieldEmbedder
from allennlp.training import GradientDescentTrainer
from allennlp.training.callbacks import TrainerCallback

from tagger.modules.token_embedders.frozen_transformer import FrozenTransformerEmbedder
from tagger.transformers.frozen_transformer_indexer import FrozenTransformerIndexer
from tagger.transformers.word_features import Passage


@TrainerCallback.register("frozen_features")
class FrozenFeaturesCallback(TrainerCallback):
    """Calls `keep_features` for the training and validation data when training starts."""

    def on_start(
        self, trainer: GradientDescentTrainer, is_primary: bool = True, **kwargs: Any
    ) -> None:
        super().on_start(trainer, is_primary, **kwargs)
        loaders = (trainer.data_loader, trainer._validation_data_loader)
        keep_features(
            trainer.model,
            (each for loader in loaders if loader is not None for each in loader.iter_instances()),
        )


def keep_features(model: Model, instances: Iterable[Instance]) -> None:
    """Computes the features for the model's `frozen_transformer` embedders, if any, and caches them."""
    embedders = _embedders(model)
    if not embedders:
        return
    passages: Dict[str, Dict[bytes, Passage]] = {name: {} for name in embedders}
    for name, passage in _passages(instances, model.vocab):
        if name in passages:
            passages[name].setdefault(passage.key(), passage)
    for name, embedder in embedders.items():
        embedder.prepare(list(passages[name].values()))


def _embedders(model: Model) -> Dict[str, FrozenTransformerEmbedder]:
    """Returns the embedders of frozen transformers by indexer name."""
    return {
        name.removeprefix("token_embedder_"): embedder
        for module in model.modules()
        if isinstance(module, TextFieldEmbedder)
        for name, embedder in module.named_children()
        if isinstance(embedder, FrozenTransformerEmbedder)
    }


def _passages(instances: Iterable[Instance], vocab: Vocabulary) -> Iterator[Tuple[str, Passage]]:
    """Yields the passages in the instances' texts, each with its indexer's name."""
    for instance in instances:
        for field in instance.fields.values():
            if not isinstance(field, TextField):
                continue
            for name, indexer in field.token_indexers.items():
                if isinstance(indexer, FrozenTransformerIndexer):
                    indexed = indexer.tokens_to_indices(field.tokens, vocab)
                    yield from ((name, passage) for passage in indexer.passages(indexed))
