"""A small corpus in which the label of a name depends on another sentence of its document."""

import json

from allennlp.common import Params

from tests.conftest import CONFIGS

NAMES = ["Lima", "Chester", "Florence", "Austin", "Paris", "Sydney", "Devon", "Lincoln"]


def document(name, label):
    """A document in which the label of NAME in `NAME :` is revealed by the other sentence."""
    told = f"{name} B-PER\nsaid O\nyes O" if label == "PER" else f"in O\n{name} B-LOC\nrained O"
    # The documents have different lengths.
    sentences = [f"{name} B-{label}\n: O", told, *(["yes O"] if label == "LOC" else [])]
    return "-DOCSTART- O\n\n" + "".join(f"{sentence}\n\n" for sentence in sentences)


def text_of_documents():
    return "".join(document(name, label) for name in NAMES for label in ("PER", "LOC"))


def documents_config(folder, contexts=("same_words",), num_epochs=25, **reader):
    """A config that trains on this corpus within seconds."""
    path = folder / "documents.txt"
    path.write_text(text_of_documents())
    config = Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet").as_dict(quiet=True)
    config.update(train_data_path=str(path), validation_data_path=str(path))
    config["dataset_reader"].update({"documents": "docstart", **reader})
    config["model"]["document_contexts"] = list(contexts)
    config["data_loader"]["batch_size"] = 4
    config["trainer"].update(num_epochs=num_epochs, patience=None)
    return Params(json.loads(json.dumps(config)))
