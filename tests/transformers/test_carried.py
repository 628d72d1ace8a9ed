"""An archive stores a transformer as tensors and two JSON files with known keys."""

import json

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import (
    DebertaV2Config,
    DebertaV2Model,
    ModernBertConfig,
    ModernBertModel,
    PreTrainedTokenizerFast,
)

from tagger.transformers.carried import CarriedTransformer, write_carried
from tagger.transformers.transformer import Transformer
from tagger.transformers.word_pieces import WordPieces
from tests.transformers.small import save_bpe, save_word_pieces

SIZES = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
SPECIAL = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
TEXT = ["the", "Café", "in", "Zürich", "’s", "12,5"]
TEXT += ["[MASK]", "<mask>", "\u200b", "\ufb01", "\u6771"]


def save_unigram(folder):
    """Writes a DeBERTa-v3, with some settings that its config class does not name."""
    folder.mkdir()
    pieces = dict.fromkeys([*SPECIAL, "▁", "▁the", "▁Ca", *"thecafinzür12,é."])
    scores = [(each, -float(n)) for n, each in enumerate(pieces)]
    tokenizer = Tokenizer(models.Unigram(scores, 3))
    parts = [normalizers.Replace("``", '"'), normalizers.NFKC()]
    tokenizer.normalizer = normalizers.Sequence(parts)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    _save_tokenizer(tokenizer, folder)
    unnamed = {"share_att_key": True, "norm_rel_ebd": "layer_norm", "position_buckets": 4}
    unnamed |= {
        "relative_attention": True,
        "pos_att_type": "p2c|c2p",
        "position_biased_input": False,
    }
    DebertaV2Model(DebertaV2Config(vocab_size=40, **unnamed, **SIZES)).save_pretrained(folder)
    return str(folder)


def save_modern(folder):
    """Writes a ModernBERT, which has a nested config."""
    folder.mkdir()
    vocabulary = {each: n for n, each in enumerate([*SPECIAL, *"Ġthecafinzür12,é."])}
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    _save_tokenizer(tokenizer, folder)
    ids = {f"{name}_token_id": None for name in ("bos", "eos", "cls", "sep")}
    config = ModernBertConfig(vocab_size=30, pad_token_id=0, **ids, **SIZES)
    ModernBertModel(config).save_pretrained(folder)
    return str(folder)


def _save_tokenizer(tokenizer, folder):
    tokenizer.add_special_tokens(SPECIAL)
    frame = [(each, tokenizer.token_to_id(each)) for each in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=frame)
    names = dict(zip(("pad_token", "cls_token", "sep_token", "unk_token", "mask_token"), SPECIAL))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)


@pytest.fixture
def carried(tmp_path):
    transformer = Transformer(save_path(save_word_pieces, tmp_path), "0" * 64)
    return write_carried(transformer, tmp_path / "carried", with_weights=True)


def save_path(save, tmp_path):
    save(tmp_path / "original")
    return tmp_path / "original"


@pytest.mark.parametrize("save", [save_word_pieces, save_bpe, save_unigram, save_modern])
def test_a_stored_transformer_tokenizes_and_encodes_as_before(save, tmp_path):
    transformer = Transformer(save_path(save, tmp_path), "0" * 64)
    carried = write_carried(transformer, tmp_path / "carried", with_weights=True)
    names = {path.name for path in carried.folder.iterdir()}
    assert names == {"config.json", "model.safetensors", "tokenizer.json"}
    assert carried.source == transformer.digest
    before, after = (WordPieces(each.tokenizer()) for each in (transformer, carried))
    assert before(TEXT) == after(TEXT)
    for name in ("start_pieces", "end_pieces", "padding", "_unknown"):
        assert getattr(before, name) == getattr(after, name)
    pieces = torch.tensor([[number for word in before(TEXT) for number in word]])
    with torch.inference_mode():
        states, carried_states = (
            each.model()(input_ids=pieces).last_hidden_state for each in (transformer, carried)
        )
    assert torch.equal(states, carried_states)


def test_weights_are_stored_in_their_precision(tmp_path):
    folder = save_path(save_word_pieces, tmp_path)
    Transformer(folder, "").model().half().save_pretrained(folder)
    carried = write_carried(Transformer(folder, ""), tmp_path / "carried", with_weights=True)
    stored = load_file(carried.folder / "model.safetensors")
    assert {each.dtype for each in stored.values()} == {torch.float16}
    assert carried.model().dtype == torch.float32


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"model_type": "clip"}, "must name a kind of model"),
        ({"model_type": 5}, "must name a kind of model"),
        ({"auto_map": {"AutoModel": "code.Model"}}, "has `auto_map`, which is not a setting"),
        ({"gguf_file": "/etc/passwd"}, "has `gguf_file`"),
        ({"num_labels": 10**9}, "has `num_labels`"),
        ({"attn_implementation": "nobody/kernels"}, "has `attn_implementation`"),
        ({"_attn_implementation": "eager"}, "has `_attn_implementation`"),
        ({"quantization_config": {"quant_method": "x"}}, "has `quantization_config`"),
        ({"hidden_act": "../secret"}, "sets `hidden_act` to '../secret'"),
        ({"hidden_act": "\x1b[2J"}, r"sets `hidden_act` to '\\x1b\[2J'"),
        ({"hidden_size": 10**9}, "sets `hidden_size` to '1000000000'"),
        ({"num_hidden_layers": 10**6}, "sets `num_hidden_layers`"),
        ({"layer_norm_eps": float("nan")}, "sets `layer_norm_eps` to 'nan'"),
        ({"vocab_size": 10**6}, "`vocab_size` to more than 500000"),
        ({"special_tokens": {"chat_template": "x"}}, "`special_tokens` may name unk_token"),
        ({"hidden_size": {"a": [[]] * 60_000}}, "values, more than 50000"),
    ],
)  # fmt: skip
def test_a_setting_that_is_not_known_is_refused_by_name(change, what, carried):
    path = carried.folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ConfigurationError, match=what):
        carried.model()
    with pytest.raises(ConfigurationError, match=what):
        carried.tokenizer()


@pytest.mark.parametrize(
    "name", ["tokenizer_config.json", "pytorch_model.bin", "chat_template.jinja", "code.py", "a"]
)
def test_another_file_is_refused_by_name(name, carried):
    (carried.folder / name).write_text("{}")
    with pytest.raises(ConfigurationError, match=f"has the file `{name}`, which is none of"):
        carried.tokenizer()


def _part(kind, **settings):
    return {"type": kind, **settings}


def _sequence(*parts):
    return _part("Sequence", normalizers=list(parts))


PIECE = {"SpecialToken": {"id": "[CLS]", "type_id": 0}}
WORDS = {"Sequence": {"id": "A", "type_id": 0}}
TEMPLATE = {"single": [PIECE] * 20, "pair": [WORDS], "special_tokens": {}}
ADDED = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)


@pytest.mark.parametrize(
    ("place", "value", "what"),
    [
        ("padding", {"strategy": {"Fixed": 10**9}}, "`padding` must be null"),
        ("truncation", {"max_length": 1}, "`truncation` must be null"),
        ("decoder", {"type": "WordPiece"}, "`decoder` must be null"),
        ("more", 1, "it has `more`"),
        ("normalizer", _part("Replace", pattern={"String": "a"}, content="aa"), "by a longer text"),
        ("normalizer", _part("Replace", pattern={"String": ""}, content=""), "by a longer text"),
        ("normalizer", _part("Replace", pattern={"Regex": "(a*)*b"}, content=""), "expression"),
        ("normalizer", _part("Prepend", prepend="a" * 1000), "`Prepend.prepend` is too long"),
        ("normalizer", _sequence(*[_part("ByteLevel")] * 2), "too many parts"),
        ("normalizer", _sequence(_sequence(*[_sequence()] * 10)), "too many parts"),
        ("normalizer", _part("Precompiled", precompiled_charsmap="A" * 2**21), "damaged table"),
        ("normalizer", _part("Precompiled", precompiled_charsmap="AAAAAGFh" + "YWFh" * 99), "long"),
        ("normalizer", _part("Precompiled", precompiled_charsmap="BAAAAA=="), "damaged"),
        ("normalizer", _part("Unknown"), "a normalizer `Unknown`"),
        ("pre_tokenizer", _part("CharDelimiterSplit", delimiter="a"), "a pre_tokenizer `CharDel"),
        ("post_processor", _part("BertProcessing", sep=["a", 10**9], cls=["a", 1]), "not a piece"),
        ("post_processor", _part("TemplateProcessing", **TEMPLATE), "too many tokens"),
        ("added_tokens", [{"id": 1, "content": "a" * 1000, **ADDED}], "the added token .* too long"),
        ("added_tokens", [{"id": 10**9, "content": "a", **ADDED}], "or none of the model"),
        ("added_tokens", [{"id": 1, "content": "a", **ADDED}] * 6000, "adds more than 5000"),
        ("model", _part("WordLevel", vocab={"a": 10**6}, unk_token="a"), "which knows 83, does not"),
        ("model", _part("Unigram", vocab=[["a", 0]] * 100, unk_id=0), "which knows 83, does not"),
        ("model", _part("BPE", vocab={}, merges=[], dropout=0.5), "sets `dropout` to 0.5"),
        ("model", _part("WordPiece", vocab={}, unk_token="a" * 1000), "sets `unk_token`"),
        ("model", _part("WordPiece", vocab={"a" * 1000: 1}), "a piece of more than 512 letters"),
        ("model", _part("WordPiece", vocab={}, max_input_chars_per_word=10**9), "at most 1000"),
        ("model", _part("Other", vocab={}), "a model `Other`"),
        ("model", [], "is not a tokenizer"),
        ("version", "x" * 2**22, "bytes, more than"),
    ],
)  # fmt: skip
def test_a_part_of_a_tokenizer_beyond_all_need_is_refused(place, value, what, carried):
    path = carried.folder / "tokenizer.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), place: value}))
    with pytest.raises(ConfigurationError, match=what):
        carried.tokenizer()


@pytest.mark.parametrize(
    ("kind", "is_other", "message"),
    [
        (Transformer, False, "cannot be put into an archive .*`tokenizer.json`"),
        (CarriedTransformer, True, "cuts .* differently once it is written"),
    ],
)
def test_a_tokenizer_without_rules_or_that_changes_once_it_is_written_cannot_be_carried(
    kind, is_other, message, tmp_path, monkeypatch
):
    transformer = Transformer(save_path(save_word_pieces, tmp_path), "")
    save_bpe(tmp_path / "other")
    tokenizer = Transformer(tmp_path / "other", "").tokenizer() if is_other else object()
    monkeypatch.setattr(kind, "tokenizer", lambda self: tokenizer)
    with pytest.raises(ConfigurationError, match=message):
        write_carried(transformer, tmp_path / "carried", with_weights=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["original", "other"]


def test_tensors_that_do_not_fit_are_refused(carried):
    path = carried.folder / "model.safetensors"
    tensors = load_file(path)
    fewer = dict(list(tensors.items())[1:])
    for other, message in (
        ({**tensors, "more": torch.zeros(1)}, "Unexpected key"),
        (fewer, "Missing key"),
    ):
        save_file(other, path)
        with pytest.raises(RuntimeError, match=message):
            carried.model()
