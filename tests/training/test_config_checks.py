"""What AllenNLP does not check is checked before any data are read."""

import json

import pytest
from allennlp.common.checks import ConfigurationError

from tagger.training.config_checks import check_config
from tests.kinds import TOY


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({"random_seed": "a"}, "random_seed"),
        ({"numpy_seed": -1}, "numpy_seed"),
        ({"pytorch_seed": 1e30}, "pytorch_seed"),
        ({"dataset_reader": {"max_instances": -1}}, "dataset_reader.max_instances"),
        ({"data_loader": {"batch_size": 10**30}}, "data_loader.batch_size"),
        ({"validation_data_loader": {"batch_size": 0}}, "validation_data_loader.batch_size"),
        ({"vocabulary": {"min_count": {"tokens": -1}}}, "vocabulary.min_count.tokens"),
        ({"vocabulary": {"max_vocab_size": -1}}, "vocabulary.max_vocab_size"),
        ({"vocabulary": {"max_vocab_size": {"tokens": "a"}}}, "vocabulary.max_vocab_size.tokens"),
        ({"trainer": {"checkpointer": {"keep_most_recent_by_count": -1}}},
         "trainer.checkpointer.keep_most_recent_by_count"),
        *(
            ({"trainer": {name: value}}, f"trainer.{name}")
            for name, values in {
                "num_epochs": [0, -1, 1.5, "ten", True, None],
                "num_gradient_accumulation_steps": [0, "a"],
                "patience": [0, -1, "a", 2.5],
                "grad_norm": [-5, 0, "a"],
                "grad_clipping": [-5, "a", True],
            }.items()
            for value in values
        ),
        *(
            ({"trainer": {"learning_rate_scheduler": {"type": "slanted_triangular", "cut_frac": value}}},
             "trainer.learning_rate_scheduler.cut_frac")
            for value in (2, -1, 1, "a")
        ),
    ],
)  # fmt: skip
def test_a_value_out_of_range_is_refused_by_name(config, name):
    with pytest.raises(ConfigurationError, match=f"^`{name}` must be .*; got "):
        check_config(config)


@pytest.mark.parametrize(
    "model_type", ["ensemble", "sequence_tagger_ensemble", "document_classifier_ensemble"]
)
def test_an_ensemble_is_not_trained_as_a_whole(model_type, allennlp, at_root, tmp_path, capsys):
    overrides = json.dumps({"model": {"type": model_type, "members": ["a.tar.gz", "b.tar.gz"]}})
    with pytest.raises(SystemExit):
        allennlp("train", TOY, "-s", tmp_path / "run", "-o", overrides)
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(
        f"allennlp: `model.type` is {model_type}, which is not trained as a whole;"
    )
    assert last.endswith("join the archives by `allennlp ensemble`")


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"random_seed": None, "numpy_seed": 0, "pytorch_seed": 2**32 - 1, "trainer": {}},
        {"trainer": {"num_epochs": 1, "patience": None, "grad_norm": False, "grad_clipping": 0.1}},
        {"trainer": {"grad_norm": True, "num_gradient_accumulation_steps": None}},
        {"trainer": {"grad_norm": None, "patience": 1, "learning_rate_scheduler": "noam"}},
        {"trainer": {"learning_rate_scheduler": {"type": "slanted_triangular"}}},
        {"trainer": {"checkpointer": {"keep_most_recent_by_count": None}}, "data_loader": {}},
        {"vocabulary": {"min_count": {"tokens": 2}, "max_vocab_size": {"tokens": 9, "a": None}}},
        {"vocabulary": {"type": "from_files"}, "data_loader": {"batch_size": None}},
    ],
)
def test_valid_values_are_accepted(config):
    check_config(config)
