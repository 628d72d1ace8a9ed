import pytest


@pytest.fixture(scope="session")
def backbones(tmp_path_factory):
    """The folders of a tiny transformer of each kind."""
    from tests.integrations.huggingface.backbones import KINDS, save_backbone

    return {kind: save_backbone(kind, tmp_path_factory.mktemp(kind)) for kind in KINDS}


@pytest.fixture(scope="module", params=["bert", "distilbert", "roberta"])
def backbone(request, backbones):
    return backbones[request.param]


@pytest.fixture(scope="module")
def bert(backbones):
    return backbones["bert"]
