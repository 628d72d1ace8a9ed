"""The shared template of the configs."""

import pytest
from allennlp.common import Params

from tests.conftest import CONFIGS


@pytest.fixture
def config(tmp_path):
    """Evaluates a config made of the template with further fields."""

    def evaluate(fields):
        path = tmp_path / "own.jsonnet"
        files = "source_encoding:: 'BIO', train_data_path: 't', validation_data_path: 'd'"
        path.write_text(f"(import '{CONFIGS}/template.libsonnet') + {{ {files}, {fields} }}")
        return Params.from_file(path)

    return evaluate


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("weightings", "weighting"),
        ("num_epoch", "num_epochs"),
        ("hiden_size", "hidden_size"),
        ("batchsize", "batch_size"),
        ("x", None),
    ],
)
def test_a_field_that_the_template_does_not_read_is_refused(typo, meant, config):
    message = f"`{typo}::` is no field of the template; did you mean `{meant or ''}"
    with pytest.raises(RuntimeError, match=message):
        config(f"{typo}:: 3")


def test_fields_of_the_template_and_keys_of_allennlp_are_taken(config):
    fields = "hidden_size:: 7, random_seed: 1, model+: { encoder+: { stateful: false } }"
    assert config(fields)["model"]["encoder"]["hidden_size"] == 7
