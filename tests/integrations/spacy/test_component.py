"""The spaCy component, compared with the tagger from `tagger.load`."""

import pickle
from importlib.metadata import entry_points

import pytest
import spacy
from allennlp.common.checks import ConfigurationError
from allennlp.models import load_archive
from spacy import displacy
from spacy.tokens import Doc, DocBin

from tagger.integrations.spacy.component import make_component
from tagger.predictors.saved_tagger import SavedTagger
from tests.test_start_up import WITHOUT_ALLENNLP

TEXT = "Maria Lindqvist met  Paulo\nFerraz in Lisbon. Ada Lovelace lives in Oslo.\n\n"
TEXTS = [TEXT, "", " \n", "Grace Mwangi works for Acme in Oslo.", "Nothing.", TEXT + TEXT]


@pytest.fixture
def make(good):
    """Creates a pipeline. spaCy finds the component only through its entry point."""

    def make(*before, **config):
        nlp = spacy.blank("en")
        for name in before:
            nlp.add_pipe(name)
        nlp.add_pipe("allennlp_tagger", config={"model": str(good), **config})
        return nlp

    return make


def found_in(doc):
    group = doc.spans["allennlp_tagger"]
    return [
        (span.label_, span.text, pytest.approx(probability, abs=1e-5))
        for span, probability in zip(group, group.attrs["probabilities"])
    ]


def wanted_of(model, doc, sentences=None):
    """The tagger's result for the tokens of each sentence, as spans of the document."""
    wanted = []
    for sentence in [doc[:]] if sentences is None else sentences:
        tokens = [token for token in sentence if not token.is_space]
        for entity in model.tag(tokens=[token.text for token in tokens]).entities:
            span = doc[tokens[entity.first].i : tokens[entity.last].i + 1]
            wanted.append((entity.label, span.text, entity.probability))
    return wanted


def test_spacy_finds_the_component_by_its_entry_point():
    (found,) = entry_points(group="spacy_factories", name="allennlp_tagger")
    assert found.load() is make_component


def test_a_document_gets_the_entities_of_the_tagger(make, model):
    doc = make()(TEXT)
    assert found_in(doc) == wanted_of(model, doc)
    assert len(doc.ents) == len(found_in(doc)) >= 3
    assert [(span.label_, span.text) for span in doc.ents] == [each[:2] for each in found_in(doc)]
    # An entity spans white space, which is a token only for spaCy.
    assert any("\n" in span.text for span in doc.ents)
    same = model.tag(TEXT).entities
    assert [(span.start_char, span.end_char) for span in doc.ents] == [e[2:4] for e in same]


@pytest.mark.parametrize("text", ["Maria Lindqvist met Paulo.", "", " Maria", "\ufeff Maria"])
def test_a_leading_byte_order_mark_changes_nothing_else(text, make, model):
    doc = make()(f"\ufeff{text}")
    assert doc.text == f"\ufeff{text}"
    found = [(span.label_, span.end_char) for span in doc.ents]
    assert found == [(each.label, each.end) for each in model.tag(doc.text).entities]
    probabilities = doc.spans["allennlp_tagger"].attrs["probabilities"]
    assert probabilities == [each.probability for each in model.tag(doc.text).entities]


def test_sentences_are_tagged_separately(make, model):
    nlp = make("sentencizer")
    doc = nlp(TEXT)
    assert len(list(doc.sents)) > 1
    assert found_in(doc) == wanted_of(model, doc, doc.sents)
    assert found_in(doc) != wanted_of(model, doc)


@pytest.mark.parametrize("batch_size", [1, 2, 100])
def test_batches_and_single_documents_give_the_same(batch_size, make):
    nlp = make("sentencizer")
    docs = list(nlp.pipe(TEXTS, batch_size=batch_size))
    assert [doc.text for doc in docs] == TEXTS
    assert [found_in(doc) for doc in docs] == [found_in(nlp(text)) for text in TEXTS]
    assert [len(doc.ents) for doc in docs[1:3]] == [0, 0]


def test_documents_are_tagged_in_batches(make, monkeypatch):
    nlp = make(batch_size=4)
    component = nlp.get_pipe("allennlp_tagger")
    sizes = []
    tag = component.tagger.tag
    monkeypatch.setattr(
        component.tagger, "tag", lambda inputs: sizes.append(len(inputs)) or tag(inputs)
    )
    list(component.pipe(nlp.make_doc("Ada left.") for _ in range(10)))
    assert sizes == [4, 4, 2]


def test_biases_and_the_name_of_the_group_are_settings(make, model):
    doc = make(decode_bias={"LOC": -100.0}, span_group="mine")(TEXT)
    found = [span.label_ for span in doc.spans["mine"]]
    biased = model.with_bias(LOC=-100)
    assert found == [each[0] for each in wanted_of(biased, doc)]
    assert "LOC" not in found
    assert "allennlp_tagger" not in doc.spans
    with pytest.raises(ConfigurationError, match="did you mean `PER`"):
        make(decode_bias={"PRE": 1.0})(TEXT)


@pytest.mark.parametrize("overwrite", [True, False])
def test_existing_entities_are_replaced_or_kept(overwrite, make):
    nlp = make(overwrite=overwrite)
    ruler = nlp.add_pipe("entity_ruler", first=True)
    ruler.add_patterns([{"label": "DATE", "pattern": "Maria"}, {"label": "DATE", "pattern": "."}])
    doc = nlp(TEXT)
    labels = {span.text: span.label_ for span in doc.ents}
    assert ("." in labels) != overwrite
    assert labels.get("Maria") == (None if overwrite else "DATE")
    assert labels["Lisbon"] == "LOC"
    assert "Maria Lindqvist" in [span.text for span in doc.spans["allennlp_tagger"]]


def test_pipelines_are_pickled_and_saved_with_the_model(make, good, tmp_path):
    nlp = make("sentencizer", decode_bias={"PER": 0.5})
    wanted = found_in(nlp(TEXT))
    # As on another machine without the archive.
    nlp.get_pipe("allennlp_tagger")._settings["model"] = "gone"
    again = pickle.loads(pickle.dumps(nlp))
    nlp.to_disk(tmp_path / "saved")
    config = (tmp_path / "saved" / "config.cfg").read_text()
    (tmp_path / "saved" / "config.cfg").write_text(config.replace(str(good), "/nowhere"))
    loaded = spacy.load(tmp_path / "saved")
    blank = make("sentencizer", decode_bias={"PER": 0.5}).from_bytes(nlp.to_bytes())
    for other in (again, loaded, blank, pickle.loads(pickle.dumps(loaded))):
        assert found_in(other(TEXT)) == wanted


def test_saved_documents_keep_the_probabilities(make):
    nlp = make()
    doc = nlp(TEXT)
    (again,) = DocBin(store_user_data=True, docs=[doc]).get_docs(nlp.vocab)
    read = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    for other in (again, read, pickle.loads(pickle.dumps(doc))):
        assert found_in(other) == found_in(doc)


def test_displacy_shows_the_entities(make):
    doc = make()(TEXT)
    html = displacy.render(doc, style="ent", jupyter=False)
    assert html.count("<mark") == len(doc.ents)
    options = {"spans_key": "allennlp_tagger"}
    assert "PER" in displacy.render(doc, style="span", options=options, jupyter=False)


def test_a_long_document_is_split_like_its_text(make, model):
    nlp = make()
    doc = nlp.get_pipe("allennlp_tagger")(nlp.make_doc("Maria met Paulo in Lisbon . " * 2_000))
    assert len(doc) == 12_000
    found = [(span.label_, span.start_char, span.end_char) for span in doc.ents]
    wanted = model.tag(doc.text).entities
    assert found == [(entity.label, entity.start, entity.end) for entity in wanted]


def test_the_pipeline_is_scored_as_with_ner(make):
    nlp = make()
    gold = nlp(TEXT)
    example = spacy.training.Example(nlp.make_doc(TEXT), gold)
    assert nlp.evaluate([example])["ents_f"] == 1.0
    assert nlp.pipe_labels["allennlp_tagger"] == ["EVENT", "LOC", "ORG", "PER"]


def test_errors_are_reported_at_the_first_document(make, monkeypatch):
    with pytest.raises(FileNotFoundError, match="`model` of the component .* there is no nowhere"):
        make(model="nowhere.tar.gz")(TEXT)
    nlp = make()
    component = nlp.get_pipe("allennlp_tagger")
    monkeypatch.setattr(type(component.tagger), "finds_entities", False)
    component.from_bytes(component.to_bytes())
    with pytest.raises(
        ConfigurationError, match="with tags that spell entities, .* use `tagger.load`"
    ):
        nlp(TEXT)
    # spaCy's error handlers work as for any component.
    failed = []
    nlp.set_error_handler(lambda name, component, docs, error: failed.append(len(docs)))
    list(nlp.pipe(["a", "b"]))
    assert failed == [2]


def test_without_allennlp_other_pipelines_work_and_ours_names_what_is_missing(run_fresh):
    outcome = run_fresh(
        WITHOUT_ALLENNLP
        + """
import spacy
nlp = spacy.blank("en")
nlp.add_pipe("sentencizer")
assert "tagger.predictors.saved_tagger" not in sys.modules
nlp.add_pipe("allennlp_tagger", config={"model": "/"})
try:
    nlp("a")
except ImportError as error:
    print(error)
"""
    )
    assert "pip install --no-deps allennlp" in outcome.output
    assert outcome.succeeded, outcome.output


@pytest.mark.parametrize(
    "overrides",
    [
        {"dataset_reader.tokenizer": {"type": "blanks"}},
        {"dataset_reader.tokenizer": {"type": "regular_expression", "pattern": r"\w\w?|\S"}},
        {"dataset_reader.language": "de"},
    ],
)
def test_a_tagger_with_other_tokens_splits_the_text_itself(overrides, make, good):
    model = SavedTagger.of(load_archive(good, overrides=overrides), "toy")
    nlp = make()
    nlp.get_pipe("allennlp_tagger")._tagger = model
    for text in ("Maria Lindqvist met Paulo Ferraz, in Lisbon.", "Ada-Lovelace lives in Oslo."):
        doc = nlp(text)
        wanted = model.tag(text).entities
        found = doc.spans["allennlp_tagger"]
        assert len(found) == len(wanted)
        for span, entity in zip(found, wanted):
            assert span.label_ == entity.label
            assert span.start_char <= entity.start < entity.end <= span.end_char
        probabilities = [entity.probability for entity in wanted]
        assert found.attrs["probabilities"] == pytest.approx(probabilities, abs=1e-5)
