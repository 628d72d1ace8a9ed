"""Builds models from configs without the files that the configs name."""

import json

from allennlp.common import Params
from allennlp.data import DatasetReader, Vocabulary
from allennlp.models import Model
from transformers import BertConfig, BertModel, BertTokenizerFast

TRANSFORMER = "data/all-MiniLM-L6-v2"
#: The number of layers of each transformer, because configs refer to layers by number.
NUM_LAYERS = {
    TRANSFORMER: 6,
    "data/all-mpnet-base-v2": 12,
    "data/multilingual-e5-small": 12,
}
LABELS = ("PER", "ORG", "LOC", "MISC")


def build_model(params, folder):
    """Builds the reader and the model of a config for a small vocabulary.

    Small vectors, lists and transformers are written to the folder in place of the real ones. The
    vocabulary has the BIOUL tags of `LABELS`.
    """
    text = json.dumps(params.as_dict(quiet=True))
    for name, number in NUM_LAYERS.items():
        if name in text:
            save_small_transformer(folder, num_layers=number)
            text = text.replace(name, str(folder))
    params = Params(json.loads(text))
    DatasetReader.from_params(params["dataset_reader"])
    embedders = params["model"]["text_field_embedder"]["token_embedders"]
    for name in embedders.get("lexicons", {"names": []})["names"]:
        (folder / f"{name}.txt").write_text("Lima")
        embedders["lexicons"]["pretrained_file"] = str(folder)
    embedder = embedders["tokens"]
    if "pretrained_file" in embedder:
        vectors = folder / "vectors.txt"
        vectors.write_text(" ".join(["said", *["0.5"] * embedder["embedding_dim"]]))
        embedder["pretrained_file"] = str(vectors)
    tags = ["O", *(f"{prefix}-{label}" for label in LABELS for prefix in "BILU")]
    vocab = Vocabulary({"labels": dict.fromkeys(tags, 1), "tokens": {"said": 1}})
    return Model.from_params(params["model"], vocab=vocab)


WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a")


def save_small_transformer(folder, words=WORDS, size=2, num_layers=2, **settings):
    """Writes a transformer with random weights and its tokenizer."""
    (folder / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    sizes = {"hidden_size": size, "num_attention_heads": 2, "num_hidden_layers": num_layers}
    config = BertConfig(vocab_size=len(words), **sizes, **settings)
    BertModel(config).save_pretrained(folder)
