"""Weights of four bits are read as a BERT."""

import json
import re

import numpy as np
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from transformers import AutoModel, AutoTokenizer, BertModel

from tagger.tools.start.four_bits import read_packed_bert, write_packed_bert
from tests.tools.start.packed import (
    PIECES,
    packed_file,
    random_tensors,
    tokenizer_file,
    weights_of,
)


@pytest.fixture
def written(tmp_path):
    """The folder of a small transformer, and its tensors."""
    tensors = random_tensors()
    write_packed_bert(read_packed_bert(packed_file(tensors)), tokenizer_file(), tmp_path)
    return tmp_path, weights_of(tensors)


def test_transformers_loads_all_weights_and_no_others(written):
    folder, expected = written
    model, report = BertModel.from_pretrained(folder, output_loading_info=True)
    assert not any(report.values())
    assert type(AutoModel.from_pretrained(folder)) is BertModel
    weights = {name: each.detach().numpy() for name, each in model.named_parameters()}
    assert not any(weights.pop(f"pooler.dense.{part}").any() for part in ("weight", "bias"))
    # The order of the file is that of the model.
    places = {"w": "weight", "b": "bias"}
    for layer in range(2):
        attention = weights[f"encoder.layer.{layer}.attention.self.key.weight"]
        assert (attention.ravel() == expected[f"l{layer}.k.w"]).all()
    names = {
        "emb.word": "embeddings.word_embeddings.weight",
        "emb.type": "embeddings.token_type_embeddings.weight",
        "emb.ln.b": "embeddings.LayerNorm.bias",
        **{f"l1.ao.{a}": f"encoder.layer.1.attention.output.dense.{b}" for a, b in places.items()},
        **{f"l1.fi.{a}": f"encoder.layer.1.intermediate.dense.{b}" for a, b in places.items()},
        **{f"l0.oln.{a}": f"encoder.layer.0.output.LayerNorm.{b}" for a, b in places.items()},
    }
    for ours, theirs in names.items():
        np.testing.assert_array_equal(weights[theirs].ravel(), expected[ours].ravel(), ours)
    assert len(weights) == len(expected)
    assert model.config.layer_norm_eps == 1e-12
    assert (folder / "model.safetensors").stat().st_mode & 0o777 == (
        (folder / "config.json").stat().st_mode & 0o777
    )


def test_its_tokenizer_cuts_text_of_any_script(written):
    folder, _ = written
    tokenizer = AutoTokenizer.from_pretrained(folder)
    cut = tokenizer("the 猫 é Z", return_tensors="pt")
    assert tokenizer.convert_ids_to_tokens(cut["input_ids"][0]) == [
        *("<s>", "▁the", "▁猫", "▁", "é", "▁", "<unk>", "</s>")
    ]
    special = tokenizer.unk_token_id, tokenizer.pad_token_id, tokenizer.model_max_length
    assert special == (3, 1, 16)
    with torch.inference_mode():
        states = AutoModel.from_pretrained(folder)(**cut).last_hidden_state
    assert states.isfinite().all()


def test_a_damaged_file_is_refused_in_one_sentence():
    tensors = random_tensors()
    content = packed_file(tensors)
    lacking = {name: each for name, each in tensors.items() if name != "l1.fo.w"}
    of_another = {**tensors, "l0.q.b": np.zeros(31, np.float32)}
    unknown = {**tensors, "l0.zz.b": np.zeros(32, np.float32)}
    directory = content.index(b"emb.word") + len("emb.word")
    bad_kind = content[:directory] + b"\7" + content[directory + 1 :]
    damaged = [content[:n] for n in (0, 3, 50, 70, 200, 400, len(content) // 2, len(content) - 1)]
    damaged += [packed_file(tensors, b"GGUF"), packed_file(lacking), packed_file(of_another)]
    for each in [*damaged, packed_file(unknown), bad_kind]:
        with pytest.raises(ConfigurationError, match="is damaged, or of another format") as caught:
            read_packed_bert(each)
        assert "\n" not in str(caught.value)
    with pytest.raises(
        ConfigurationError, match=re.escape("it lacks encoder.layer.1.output.dense")
    ):
        read_packed_bert(packed_file(lacking))


def test_a_tokenizer_with_other_pieces_is_refused(tmp_path):
    bert = read_packed_bert(packed_file(random_tensors()))
    swapped = [*PIECES[:-2], PIECES[-1], PIECES[-2]]
    with pytest.raises(ConfigurationError, match="the tokenizer's 24 pieces are not the 24"):
        write_packed_bert(bert, tokenizer_file(swapped), tmp_path)
    assert not list(tmp_path.iterdir())
    assert json.loads(tokenizer_file())["model"]["type"] == "Unigram"
