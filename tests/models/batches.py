"""Instances as the tensors that a model takes."""

from allennlp.data import Batch


def tensors(model, instances):
    batch = Batch(instances)
    batch.index_instances(model.vocab)
    return batch.as_tensor_dict()
