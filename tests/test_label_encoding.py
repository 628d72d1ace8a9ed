import pytest

from tagger import label_encoding, spans


def test_the_old_module_gives_the_functions_of_the_new_one_with_a_warning():
    with pytest.warns(FutureWarning, match="`tagger.label_encoding` is now `tagger.spans`"):
        assert label_encoding.tags_to_spans is spans.tags_to_spans


@pytest.mark.parametrize("name", ["tags_to_entities", "__path__"])
def test_the_old_module_has_nothing_else(name):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
        getattr(label_encoding, name)
