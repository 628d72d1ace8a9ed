"""Fixtures for the tests of reports."""

import pytest

from tests.conftest import CONFIGS


@pytest.fixture
def train_on(at_root, tmp_path):
    """Trains the toy config for one epoch on lines of text; gives the run's folder."""
    from allennlp.commands.train import train_model
    from allennlp.common import Params

    def train_on(
        lines,
        name="run",
        encoding="BIO",
        tag_encoding="BIOUL",
        validate=True,
        metric="+f1-measure-overall",
        **reader,
    ):
        config = Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet").as_dict(quiet=True)
        data = tmp_path / "data.txt"
        data.write_text(lines, encoding="utf-8")
        config.update(train_data_path=str(data), validation_data_path=str(data))
        config["dataset_reader"].update(
            source_encoding=encoding, tag_encoding=encoding and tag_encoding, **reader
        )
        if "label_separator" in reader:
            config["model"]["head"] = {"type": "sigmoid"}
            config["trainer"]["callbacks"].append({"type": "tune_thresholds", "target": "macro"})
        config["trainer"].update(num_epochs=1, validation_metric=metric)
        if not validate:
            del config["validation_data_path"]
            config["trainer"].update(validation_metric="-loss", patience=None)
        train_model(Params(config), str(tmp_path / name))
        return tmp_path / name

    return train_on
