"""Tiny token classifiers of every architecture that transformers knows, with random weights."""

import re

import torch
from transformers import CONFIG_MAPPING, AutoConfig, AutoModelForTokenClassification
from transformers.models.auto.modeling_auto import MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES

from tests.integrations.huggingface.classifiers import TAGS, make_tokenizer

#: The kinds of models, as `model_type` in `config.json` names them.
KINDS = tuple(MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES)

# The sizes of settings, by the end of their names. The first that fits counts.
_SIZES = {
    r"(vocab_size|n_vocab|num_embeddings)": 400,
    r"(head_dim|d_kv|d_head)": 8,
    r"(hidden_size|d_model|n_embd|dim|emb_dim|embedding_size|embed_dim)": 16,
    r"(intermediate_size|d_ff|ffn_dim|hidden_dim|n_inner|ffn_hidden_size|d_inner)": 16,
    r"(layers|n_layer)": 2,
    r"(heads|n_head|n_head_kv)": 2,
    r"(max_position_embeddings|n_positions|n_ctx|max_seq_len|max_sequence_length|seq_length)": 130,
    r"(experts_per_tok|top_k)": 1,
    r"num.*experts": 2,
    r"lora_rank": 4,
}
# What some architectures need besides.
_SETTINGS = {
    "esm": {"vocab_size": 400},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "ministral": {"head_dim": 8},
    "mobilebert": {"true_hidden_size": 16, "intra_bottleneck_size": 16, "embedding_size": 16},
    "nemotron": {"head_dim": 8, "num_key_value_heads": 2},
    "qwen3_next": {"layer_types": ["linear_attention", "full_attention"]},
    "xmod": {"default_language": "en_XX"},
}


def tiny_config(kind, tags=TAGS, num_pieces=400):
    """Returns the config of a classifier with every size made small."""
    sizes = {}
    for name, value in CONFIG_MAPPING[kind]().to_dict().items():
        if type(value) is int and value > 0:
            small = next((n for end, n in _SIZES.items() if re.search(end + "$", name)), value)
            sizes[name] = min(value, small)
    sizes |= _SETTINGS.get(kind, {})
    for name in ("vocab_size", "n_vocab"):
        if name in sizes:
            sizes[name] = num_pieces
    special = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "n_langs": 1}
    names = {tag: index for index, tag in enumerate(tags)}
    return AutoConfig.for_model(
        kind, **{**sizes, **special}, id2label=dict(enumerate(tags)), label2id=names
    )


def save_tiny(kind, folder, tags=TAGS):
    """Writes a classifier with distinct logits, and a tokenizer of bytes. Returns the folder."""
    tokenizer = make_tokenizer("bytes")
    config = tiny_config(kind, tags, len(tokenizer))
    with torch.device("meta"):
        model = AutoModelForTokenClassification.from_config(config)
        number = sum(each.numel() for each in model.parameters())
    if number > 3e6:
        raise ValueError(f"{kind} has {number} parameters")
    torch.manual_seed(0)
    model = AutoModelForTokenClassification.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            # With freshly initialised weights, all words would have nearly the same logits.
            parameter.mul_(5 if parameter.dim() >= 2 else 1)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)
