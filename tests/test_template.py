"""The shared templates of the configs."""

import pytest
from allennlp.common import Params
from allennlp.common.params import parse_overrides

FILES = "source_encoding:: 'BIO', train_data_path: 't', validation_data_path: 'd'"
FINE_TUNED = "transformer:: 'x'"


@pytest.fixture
def config(tmp_path):
    """Evaluates a config that adds fields to a template."""

    def evaluate(fields, template="template", files=FILES):
        path = tmp_path / "own.jsonnet"
        imported = f"(import 'tagger/training/{template}.libsonnet')"
        path.write_text(f"{imported} + {{ {files}, {fields} }}")
        return Params.from_file(path)

    return evaluate


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("weightings", "weighting"),
        ("num_epoch", "num_epochs"),
        ("hiden_size", "hidden_size"),
        ("batchsize", "batch_size"),
        ("x", ""),
    ],
)
def test_a_field_that_the_template_does_not_read_is_refused(typo, meant, config):
    message = f"`{typo}::` is no field of the template; did you mean `{meant}"
    with pytest.raises(RuntimeError, match=message):
        config(f"{typo}:: 3")


def test_the_template_of_fine_tuning_refuses_unknown_fields_and_asks_for_what_it_needs(config):
    params = config(f"{FINE_TUNED}, layer_decay:: 1", "transformer")
    assert params["trainer"]["optimizer"]["layer_decay"] == 1
    for fields, files, message in [
        (
            f"{FINE_TUNED}, layer_decai:: 1",
            FILES,
            "`layer_decai::` .* did you mean `layer_decay::`",
        ),
        ("layer_decay:: 1", FILES, "set `transformer`"),
        (FINE_TUNED, FILES.partition(", ")[2], "set `source_encoding`"),
    ]:
        with pytest.raises(RuntimeError, match=message):
            config(fields, "transformer", files)


def test_fields_of_the_template_and_keys_of_allennlp_are_taken(config):
    fields = "hidden_size:: 7, random_seed: 1, model+: { encoder+: { stateful: false } }"
    assert config(fields)["model"]["encoder"]["hidden_size"] == 7


@pytest.fixture
def imported(tmp_path):
    """Returns what a config in this folder imports from `tagger/words.libsonnet`."""
    path = tmp_path / "own.jsonnet"
    path.write_text("import 'tagger/words.libsonnet'")
    return lambda: Params.from_file(path).as_dict()


def write_words(folder, text):
    (folder / "tagger").mkdir(parents=True)
    (folder / "tagger/words.libsonnet").write_text(f"{{ of: '{text}' }}")


def test_a_file_beside_the_config_comes_before_the_folders_of_jsonnet_path(
    imported, tmp_path, monkeypatch
):
    with pytest.raises(RuntimeError, match="couldn't open import"):
        imported()
    for name in ("first", "second"):
        write_words(tmp_path / name, name)
    monkeypatch.setenv("JSONNET_PATH", f"{tmp_path}/first:{tmp_path}/second")
    assert imported() == {"of": "first"}
    write_words(tmp_path, "mine")
    assert imported() == {"of": "mine"}


def test_a_folder_of_the_same_name_beside_the_config_does_not_hide_the_template(tmp_path, config):
    write_words(tmp_path, "mine")
    assert config("")["data_loader"]["batch_size"] == 16


def test_jsonnet_path_may_replace_the_template(tmp_path, monkeypatch, config):
    (tmp_path / "other/tagger/training").mkdir(parents=True)
    (tmp_path / "other/tagger/training/template.libsonnet").write_text("{ type: 'my own' }")
    monkeypatch.setenv("JSONNET_PATH", str(tmp_path / "other"))
    assert config("")["type"] == "my own"


def test_overrides_may_import_the_template(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    overrides = "{ is_found: std.isObject(import 'tagger/training/template.libsonnet') }"
    assert parse_overrides(overrides) == {"is_found": True}


def test_shapes_and_lists_are_embedded_if_asked_for(config):
    embedders = config("shape_dim:: 0")["model"]["text_field_embedder"]["token_embedders"]
    assert set(embedders.as_dict()) == {"tokens", "token_characters"}
    params = config("lexicons:: ['drugs'], lexicon_folder:: 'mine', lowercase_lexicons:: true")
    embedders = params["model"]["text_field_embedder"]["token_embedders"].as_dict()
    assert embedders["lexicons"] == {
        "type": "lexicon",
        "names": ["drugs"],
        "pretrained_file": "mine",
        "lowercase": True,
    }
    assert set(embedders) == set(params["dataset_reader"]["token_indexers"].as_dict())


def test_the_layers_of_a_transformer_can_be_chosen(config):
    def embedder(fields):
        model = config(f"transformer:: 'x', {fields}")["model"].as_dict()
        return model["text_field_embedder"]["token_embedders"]["transformer"]

    assert embedder("transformer_layers:: [4, 8]")["layers"] == [4, 8]
    assert "layers" not in embedder("")


def test_the_average_of_the_weights_can_be_turned_off(config):
    assert "moving_average" in config("")["trainer"]
    assert "moving_average" not in config("average_decay:: 0")["trainer"]


def test_a_process_forked_from_one_that_has_read_a_config_reads_configs(config, in_forked_process):
    config("")
    assert (
        in_forked_process(lambda: config("hidden_size:: 7")["model"]["encoder"]["hidden_size"]) == 7
    )


def test_augmentation_is_a_callback_of_both_templates(config):
    augmentation = {"type": "augmentation", "mention_replacement": 0.5}
    for template, fields in (("template", ""), ("transformer", f"{FINE_TUNED}, ")):
        assert augmentation not in config(fields, template)["trainer"]["callbacks"]
        params = config(f"{fields}augmentation:: {augmentation}", template)
        assert params["trainer"]["callbacks"][-1].as_dict() == augmentation
