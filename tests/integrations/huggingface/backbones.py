"""Three kinds of tiny transformers with random weights, and their tokenizers."""

import string

import torch
from transformers import (
    AutoConfig,
    AutoModel,
    AutoTokenizer,
    BertTokenizerFast,
    RobertaTokenizerFast,
)

from tagger.integrations.huggingface import CrfForTokenClassification

KINDS = ("bert", "distilbert", "roberta")
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
#: The maximum number of word pieces in a window, including two special ones.
SIZE = 18

_LETTERS = string.ascii_lowercase + ".,"
_WORD_PIECES = ["ada", "love", "##lace", "london", *_LETTERS, *(f"##{c}" for c in _LETTERS)]


def save_backbone(kind, folder):
    """Writes a transformer and its tokenizer. Returns the folder as a string."""
    torch.manual_seed(0)
    folder.mkdir(exist_ok=True)
    layers = {"num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": SIZE}
    sizes = {"hidden_size": 8, "intermediate_size": 8, **layers}
    if kind == "roberta":
        special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
        vocab = {piece: k for k, piece in enumerate([*special, "Ġ", *_LETTERS, "Ġa", "Ġl"])}
        tokenizer = RobertaTokenizerFast(
            vocab=vocab, merges=[("Ġ", "a"), ("Ġ", "l")], model_max_length=SIZE
        )
        sizes |= {"max_position_embeddings": SIZE + 2, "type_vocab_size": 1}
    else:
        vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_WORD_PIECES]
        (folder / "vocab.txt").write_text("\n".join(vocab))
        tokenizer = BertTokenizerFast(str(folder / "vocab.txt"))
    if kind == "distilbert":
        layers = {"n_layers": 1, "n_heads": 2, "max_position_embeddings": SIZE}
        sizes = {"dim": 8, "hidden_dim": 8, **layers}
    model = AutoModel.from_config(AutoConfig.for_model(kind, vocab_size=len(vocab), **sizes))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def load_tokenizer(path):
    return AutoTokenizer.from_pretrained(path, add_prefix_space=True)


def random_model(path, **kwargs):
    """A model on a backbone, with emissions large enough for some confident predictions."""
    torch.manual_seed(1)
    model = CrfForTokenClassification.from_backbone(path, TAGS, **kwargs)
    with torch.no_grad():
        model.token_classifier.classifier.weight.normal_(std=3)
        model.crf.transitions.normal_()
    return model.eval()
