import pytest


@pytest.fixture(scope="module", params=["bert", "distilbert", "roberta"])
def backbone(request, tmp_path_factory):
    """The folder of a tiny transformer, of each kind."""
    from tests.integrations.huggingface.backbones import save_backbone

    return save_backbone(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    from tests.integrations.huggingface.backbones import save_backbone

    return save_backbone("bert", tmp_path_factory.mktemp("bert"))
