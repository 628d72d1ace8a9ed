from tagger.data.formats import PLAIN_TAGS, read_texts, recognise, write_texts


def row(number, form, upos, misc="_"):
    return f"{number}\t{form}\t_\t{upos}\t_\t_\t_\t_\t_\t{misc}\n"


FRENCH = (
    "# sent_id = fr-1\n# text = Le prix du pain.\n"
    + row(1, "Le", "DET")
    + row(2, "prix", "NOUN")
    + row("3-4", "du", "_")
    + row(3, "de", "ADP")
    + row(4, "le", "DET")
    + row("4.1", "vu", "VERB")
    + row(5, "pain", "NOUN", "SpaceAfter=No")
    + row(6, ".", "PUNCT")
    + "\n"
)


def test_parts_of_speech_are_plain_labels_and_ranges_are_tokens(write, tmp_path):
    path = write("a.conllu", FRENCH)
    assert recognise(path) == "conllu"
    (text,) = read_texts(path)
    assert text.text == "Le prix du pain."
    assert text.properties == {"sent_id": "fr-1", PLAIN_TAGS: True}
    labels = [f"{text.text[start:end]} {label}" for label, start, end in text.entities]
    assert labels == ["Le DET", "prix NOUN", "du ADP+DET", "pain NOUN", ". PUNCT"]
    write_texts([text], tmp_path / "b.txt", "columns")
    assert (tmp_path / "b.txt").read_text().split() == " ".join(labels).split()


def test_entities_of_misc_come_first_and_documents_keep_their_sentences(write):
    sentence = row(1, "Ada", "PROPN", "ner=B-PER") + row(2, "left", "VERB", "ner=O|SpaceAfter=No")
    content = "# newdoc id = d\n" + sentence + row(3, ".", "PUNCT") + "\n" + row(1, "Why", "ADV")
    (text,) = read_texts(write("a.conllu", content + "\n"))
    assert (text.text, text.sentence_lengths) == ("Ada left. Why", [3, 1])
    assert [text.text[start:end] for _, start, end in text.entities] == ["Ada"]
