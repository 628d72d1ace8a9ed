"""Every shipped config builds."""

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from tests.configs import build_model
from tests.conftest import CONFIGS


@pytest.mark.parametrize("config", sorted(path.name for path in CONFIGS.glob("*.jsonnet")))
def test_every_shipped_config_builds(config, tmp_path):
    model = build_model(Params.from_file(CONFIGS / config), tmp_path)
    assert getattr(model, "tag_encoding", "BIOUL") == "BIOUL"


@pytest.mark.parametrize("head", ["crf", "softmax", "sigmoid"])
def test_an_unknown_key_of_a_head_is_named(head, tmp_path):
    params = Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet")
    params["model"]["head"] = {"type": head, "decodng": "viterbi"}
    with pytest.raises(ConfigurationError, match="'decodng'.*; it takes "):
        build_model(params, tmp_path)


@pytest.mark.parametrize(
    "head",
    [
        {"type": "crf", "weighting": {"type": "marginal", "gama": 1}},
        {"type": "softmax", "loss": {"type": "focal", "gama": 1}},
        {"type": "sigmoid", "loss": {"type": "class_balanced_focal", "gama": 1}},
    ],
    ids=lambda head: head["type"],
)
def test_an_unknown_key_of_a_loss_is_named(head, tmp_path):
    params = Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet")
    params["model"]["head"] = head
    with pytest.raises(ConfigurationError, match=r"'gama'.*; did you mean `gamma`\?"):
        build_model(params, tmp_path)


@pytest.mark.parametrize(
    "path", sorted(CONFIGS.rglob("*.*sonnet")), ids=lambda path: str(path.relative_to(CONFIGS))
)
def test_every_shipped_config_says_what_it_is(path):
    assert path.read_text().startswith("// ")
