"""Transformers of three layers, with random weights so large that each of them matters."""

import torch
from transformers import BertConfig, BertModel, BertTokenizerFast, RobertaConfig, RobertaModel

from tests.transformers.small import save_pairs

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SIZES = {
    "hidden_size": 8,
    "intermediate_size": 8,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "initializer_range": 0.5,
}


def save_bert(folder, max_positions=64):
    """Writes a transformer over word pieces; each letter is one, and case does not count."""
    folder.mkdir(exist_ok=True)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS]
    words += [f"##{letter}" for letter in LETTERS]
    (folder / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(vocab_size=len(words), max_position_embeddings=max_positions, **SIZES)
    BertModel(config).save_pretrained(folder)
    return str(folder)


def save_roberta(folder, max_positions=64):
    """Writes a transformer over pairs of bytes, for which a blank belongs to the word behind it."""
    num_pieces = save_pairs(folder, ["the cat said that the hat is on the mat"] * 3, 290)
    torch.manual_seed(0)
    config = RobertaConfig(vocab_size=num_pieces, max_position_embeddings=max_positions, **SIZES)
    RobertaModel(config).save_pretrained(folder)
    return str(folder)
