import pytest

from tagger.data.formats import AnnotatedText, Annotation, read_texts, recognise, write_texts

PER = Annotation("PER", 0, 3)


@pytest.mark.parametrize(
    "content",
    [
        "Sentence #,Word,POS,Tag\r\nSentence: 1,Ada,NNP,B-PER\r\n,left,VBD,O\r\nSentence: 2,Why,W,O\r\n",
        "sentence_id;token;ner\n1;Ada;B-PER\n1;left;O\n2;Why;O\n",
        "tag\tword\tsentence\nB-PER\tAda\t1\nO\tleft\t1\nO\tWhy\t2\n",
    ],
)
def test_a_token_a_row(content, write):
    path = write("a.csv", content)
    assert recognise(path) == recognise(path, labelled=False) == "columns"
    assert list(read_texts(path)) == list(read_texts(path, "csv"))
    words = [each.text for each in read_texts(path, labelled=False)]
    assert words == [each.text for each in read_texts(path)]
    first, second = read_texts(path)
    assert (first.text, first.entities, first.tokens) == ("Ada left", [PER], [(0, 3), (4, 8)])
    assert (second.text, second.entities) == ("Why", [])


def test_a_text_a_row(write):
    path = write("a.csv", 'id,text,label\n1,"Ada\nleft","[[0, 3, ""PER""]]"\n2,Why,[]\n')
    assert recognise(path) == "csv"
    first, second = read_texts(path)
    assert (first.text, first.entities) == ("Ada\nleft", [PER])
    assert (second.text, second.entities) == ("Why", [])


def test_column_files_join_their_tokens(write):
    path = write("a.txt", "Ada NNP I-PER\nleft VBD O\n. . O\n\nWhy W O\n")
    first, second = read_texts(path, "columns")
    assert (first.text, first.entities) == ("Ada left.", [PER])
    assert (second.text, second.place) == ("Why", f"{path}:5")


def test_entities_cut_tokens_and_sentences_are_kept_in_columns(tmp_path):
    text = AnnotatedText("Adas ox. No", [PER], [(0, 4), (5, 7), (7, 8), (9, 11)], [3, 1], "a", {})
    write_texts([text], tmp_path / "a.txt", "columns")
    assert (tmp_path / "a.txt").read_text() == "Ada\tB-PER\ns\tO\nox\tO\n.\tO\n\nNo\tO\n\n"


def test_an_entity_across_two_sentences_joins_them(tmp_path):
    entity, tokens = Annotation("ORG", 4, 12), [(0, 3), (4, 7), (8, 12), (13, 15)]
    text = AnnotatedText("Big St. Ives Co", [entity], tokens, [2, 2], "a", {})
    write_texts([text], tmp_path / "a.txt", "columns")
    (read,) = read_texts(tmp_path / "a.txt", "columns")
    assert read.entities == [entity]


def test_what_columns_cannot_hold_is_refused(tmp_path):
    text = AnnotatedText("Ada left", [PER, Annotation("ORG", 0, 8)], None, None, "a:1", {})
    with pytest.raises(ValueError, match="a:1: entities overlap"):
        write_texts([text], tmp_path / "a.txt", "columns")
    text = text._replace(entities=[Annotation("first name", 0, 3)])
    with pytest.raises(
        ValueError, match="a:1: a column file cannot hold 'Ada' with tag 'B-first name'"
    ):
        write_texts([text], tmp_path / "a.txt", "columns")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "tokens", [["\ufeffAda", "left"], ["\ufeff", "Ada"], ["Ada", "\ufeff\ufeff"]]
)
def test_a_byte_order_mark_in_a_token_survives(tokens, tmp_path):
    text, middle = " ".join(tokens), len(tokens[0])
    spans = [(0, middle), (middle + 1, len(text))]
    tagged = AnnotatedText(text, [Annotation("PER", *spans[0])], spans, None, "a", {})
    write_texts([tagged], tmp_path / "a.conll", "columns")
    (read,) = read_texts(tmp_path / "a.conll")
    assert [read.text[start:end] for start, end in read.tokens] == tokens
    assert [read.text[start:end] for _, start, end in read.entities] == tokens[:1]
