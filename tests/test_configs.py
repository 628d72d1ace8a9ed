"""Every shipped config builds."""

import pytest
from allennlp.common import Params

from tests.configs import build_model
from tests.conftest import CONFIGS


@pytest.mark.parametrize("config", sorted(path.name for path in CONFIGS.glob("*.jsonnet")))
def test_every_shipped_config_builds(config, tmp_path):
    model = build_model(Params.from_file(CONFIGS / config), tmp_path)
    assert getattr(model, "tag_encoding", "BIOUL") == "BIOUL"


@pytest.mark.parametrize(
    "path", sorted(CONFIGS.rglob("*.*sonnet")), ids=lambda path: str(path.relative_to(CONFIGS))
)
def test_every_shipped_config_says_what_it_is(path):
    assert path.read_text().startswith("// ")
