import pytest


@pytest.fixture(scope="session")
def path(trained, tmp_path_factory):
    """The toy tagger as a file."""
    from allennlp.models import load_archive

    from tagger.integrations.onnx.commands.export import export

    path = tmp_path_factory.mktemp("onnx") / "tagger.onnx"
    export(load_archive(trained / "model.tar.gz"), path)
    return path
