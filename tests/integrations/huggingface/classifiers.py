"""Token classifiers of several architectures with random weights, and their tokenizers."""

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoConfig, AutoModelForTokenClassification, PreTrainedTokenizerFast

from tests.conftest import ROOT

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
#: By architecture, the kind of tokenizer and the arguments of the config.
ARCHITECTURES = {
    "bert": ("word pieces", {}),
    "mpnet": ("word pieces", {}),
    "roberta": ("bytes", {"type_vocab_size": 1}),
    "modernbert": (
        "bytes",
        {"classifier_bias": True, "norm_bias": True, "global_attn_every_n_layers": 1},
    ),
    "deberta-v2": (
        "unigrams",
        {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8},
    ),
    "xlm-roberta": ("unigrams", {"type_vocab_size": 1}),
}
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


def make_tokenizer(kind):
    """Trains a small tokenizer on the toy corpus."""
    if kind == "word pieces":
        tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=200, special_tokens=SPECIAL)
    elif kind == "bytes":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=320, special_tokens=SPECIAL, initial_alphabet=alphabet
        )
    else:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=150, special_tokens=SPECIAL, unk_token="<unk>")
    text = (ROOT / "data/toy/train.txt").read_text().replace("\t", " ").split("\n")
    tokenizer.train_from_iterator(text, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    names = ("bos_token", "pad_token", "eos_token", "unk_token", "mask_token")
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        cls_token="<s>",
        sep_token="</s>",
        model_max_length=128,
        **dict(zip(names, SPECIAL)),
    )


def save_classifier(architecture, folder, tags=TAGS):
    """Writes a classifier and its tokenizer. Returns the folder as a string."""
    kind, settings = ARCHITECTURES[architecture]
    tokenizer = make_tokenizer(kind)
    config = AutoConfig.for_model(
        architecture,
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=130,
        pad_token_id=1,
        id2label=dict(enumerate(tags)),
        label2id={tag: index for index, tag in enumerate(tags)},
        **settings,
    )
    torch.manual_seed(0)
    model = AutoModelForTokenClassification.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            # With freshly initialised weights, all words would have nearly the same logits.
            parameter.mul_(5 if parameter.dim() == 2 else 1)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)
