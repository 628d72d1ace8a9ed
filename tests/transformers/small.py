"""Small transformers with random weights: one with word pieces, one with byte-level BPE."""

import string

import torch
from safetensors.torch import load_file, save_file
from tokenizers import ByteLevelBPETokenizer
from transformers import RobertaConfig, RobertaModel, RobertaTokenizerFast

from tests.configs import save_small_transformer
from tests.conftest import ROOT

LETTERS = string.ascii_lowercase + string.digits
WORD_PIECES = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ","),
    *LETTERS,
    *(f"##{letter}" for letter in LETTERS),
    *("london", "##don", "said", "the"),
]


#: Of those that are fine-tuned.
THREE_LAYERS = {"num_layers": 3, "max_position_embeddings": 64}


def save_word_pieces(folder, seed=0, **sizes):
    """Writes a BERT that knows lowercase words."""
    torch.manual_seed(seed)
    folder.mkdir(exist_ok=True)
    save_small_transformer(folder, WORD_PIECES, size=8, **sizes)
    return _with_large_weights(folder)


def save_bert(folder):
    return save_word_pieces(folder, **THREE_LAYERS)


def save_pairs(folder, texts, most_pieces):
    """Writes the rules of byte-level BPE, and returns the number of pieces."""
    folder.mkdir(exist_ok=True)
    tokenizer = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer.train_from_iterator(texts, vocab_size=most_pieces, special_tokens=special)
    tokenizer.save_model(str(folder))
    return tokenizer.get_vocab_size()


def save_bpe(folder, seed=0, num_layers=2, max_position_embeddings=514):
    """Writes a RoBERTa. Its pieces keep case and mark words by a preceding space."""
    torch.manual_seed(seed)
    num_pieces = save_pairs(folder, [(ROOT / "data/toy/train.txt").read_text()], 320)
    rules = (str(folder / name) for name in ("vocab.json", "merges.txt"))
    RobertaTokenizerFast(*rules).save_pretrained(folder)
    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_attention_heads": 2}
    sizes |= {"num_hidden_layers": num_layers, "max_position_embeddings": max_position_embeddings}
    RobertaModel(RobertaConfig(vocab_size=num_pieces, **sizes)).save_pretrained(folder)
    return _with_large_weights(folder)


def save_roberta(folder):
    return save_bpe(folder, **THREE_LAYERS)


def _with_large_weights(folder):
    """Enlarges the weights, because in a new model the context hardly changes a word's states."""
    path = folder / "model.safetensors"
    weights = load_file(path)
    larger = {name: each * 10 if each.dim() == 2 else each for name, each in weights.items()}
    save_file(larger, path, {"format": "pt"})
    return str(folder)


KINDS = {"word pieces": save_word_pieces, "bpe": save_bpe}
