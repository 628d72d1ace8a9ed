"""Small models, and batches of instances as tensors."""

import torch
from allennlp.common import Params
from allennlp.data import Batch, DataLoader, DatasetReader, Vocabulary
from allennlp.models import Model


def small_tagger(head, embedding_dim=8):
    """The config of a tagger without context: it sees each word separately."""
    embedder = {"type": "embedding", "embedding_dim": embedding_dim}
    return {
        "type": "sequence_tagger",
        "text_field_embedder": {"token_embedders": {"tokens": embedder}},
        "encoder": {"type": "pass_through"},
        "head": head,
    }


def tensors(model, instances):
    batch = Batch(instances)
    batch.index_instances(model.vocab)
    return batch.as_tensor_dict()


def loss_of(model, instances):
    return float(model(**tensors(model, instances))["loss"].detach())


def model_and_batch(params):
    """Returns the untrained model of a config and the first batch of its training data."""
    loader = DataLoader.from_params(
        Params({**params["data_loader"], "seed": 0}),
        reader=DatasetReader.from_params(params["dataset_reader"]),
        data_path=params["train_data_path"],
    )
    vocab = Vocabulary.from_instances(loader.iter_instances())
    loader.index_with(vocab)
    torch.manual_seed(0)
    return Model.from_params(params["model"], vocab=vocab), next(iter(loader))
