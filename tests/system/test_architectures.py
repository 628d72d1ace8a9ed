"""Every architecture that can be imported gives the tags and probabilities of transformers itself."""

import pytest

from tagger.integrations.huggingface.architectures import REASONS
from tests.integrations.huggingface.architectures import KINDS
from tests.integrations.huggingface.test_architectures import check_kind


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in REASONS])
def test_an_imported_tagger_agrees_with_the_pipeline(kind, tmp_path):
    check_kind(kind, tmp_path)
