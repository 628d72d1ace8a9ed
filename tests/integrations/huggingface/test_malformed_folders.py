"""A damaged folder is refused in one sentence, quickly and in little memory, or still imported."""

import json
import random
import time
from pathlib import Path

import pytest
from allennlp.common.checks import ConfigurationError

from tagger.integrations.huggingface.import_tagger import import_tagger
from tests.integrations.huggingface.classifiers import save_classifier
from tests.integrations.huggingface.malformed_folders import KINDS, damaged


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    kinds = ("bert", "roberta", "xlm-roberta")
    return [Path(save_classifier(kind, folder / kind)) for kind in kinds]


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_folder_is_refused_in_one_sentence_or_imported(kind, number, sources, tmp_path):
    rng = random.Random(f"{kind}{number}")
    damaged(kind, rng, rng.choice(sources), tmp_path / "folder")
    start = time.process_time()
    try:
        import_tagger(tmp_path / "folder", tmp_path / "model.tar.gz")
    except ConfigurationError as error:
        text = str(error)
        assert "\n" not in text
        assert len(text) < 900
        assert "TAGGER_TRUST_ARCHIVES" not in text
        assert not (tmp_path / "model.tar.gz").exists()
    assert time.process_time() - start < 10


def refused(tmp_path, source, change):
    files = {path.name: path.read_bytes() for path in source.iterdir()}
    change(files)
    (tmp_path / "folder").mkdir()
    for name, content in files.items():
        (tmp_path / "folder" / name).write_bytes(content)
    with pytest.raises(ConfigurationError) as caught:
        import_tagger(tmp_path / "folder", tmp_path / "model.tar.gz")
    return str(caught.value)


def set_config(**values):
    def change(files):
        files["config.json"] = json.dumps({**json.loads(files["config.json"]), **values}).encode()

    return change


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"num_hidden_layers": 10**7}, "sets `num_hidden_layers` to '10000000'"),
        ({"num_hidden_layers": 900}, "describes 900 layers, but the weights have"),
        (
            {"vocab_size": 400_000},
            "describes 6400000 values of `bert.embeddings.word_embeddings.weight`",
        ),
        ({"model_type": "clip"}, "a model of the kind 'clip' cannot be imported"),
        ({"model_type": "bros"}, "it reads the places of words on a page"),
        ({"num_labels": 10**6}, "expected at most 5000 tags"),
    ],
)
def test_sizes_are_compared_with_the_weights_before_anything_is_built(
    values, message, sources, tmp_path
):
    assert message in refused(tmp_path, sources[0], set_config(**values))


@pytest.mark.parametrize("shard", ["../model.safetensors", "/etc/passwd", "a/b.safetensors"])
def test_an_index_names_files_of_the_folder_only(shard, sources, tmp_path):
    def change(files):
        del files["model.safetensors"]
        index = {"weight_map": {"a": shard}}
        files["model.safetensors.index.json"] = json.dumps(index).encode()

    assert "which is no file of weights in this folder" in refused(tmp_path, sources[0], change)
