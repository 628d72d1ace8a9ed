"""The service trains with annotations of Label Studio while it answers."""

import time

import pytest
from allennlp.common import Params

import tagger
from tagger.integrations.service.app import Served, create_app
from tagger.integrations.service.retraining import Retraining
from tests.conftest import MOST_SECONDS
from tests.integrations.service.test_app import ask
from tests.integrations.service.test_label_studio import save


@pytest.mark.usefixtures("at_root")
def test_a_real_training_adds_a_label(trained, tmp_path):
    config = Params.from_file(trained / "config.json")
    config["trainer"]["num_epochs"] = 1
    retraining = Retraining(tmp_path / "studio", config, "toy", 2)
    model = tagger.load(trained / "model.tar.gz")
    app = create_app(Served(model, "toy"), retraining=retraining)
    save(app, 1, ("PLANET", 22, 26))
    assert save(app, 2, ("PLANET", 0, 5))["status"] == "training"
    deadline = time.monotonic() + MOST_SECONDS
    while retraining._running is not None and time.monotonic() < deadline:
        time.sleep(0.2)
    log = tmp_path / "studio/runs/1.log.txt"
    assert retraining.version == "toy-1", log.read_text()[-2000:]
    labels = [each["name"] for each in ask(app, "GET", "/labels").json()["labels"]]
    assert {"PLANET", "PER"} < set(labels)
