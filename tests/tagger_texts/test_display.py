import re

import pytest

from tagger_texts.display import LABELS, MARK_TINT, label_colours, quoted, spell_probability
from tagger_texts.tagged_text import Entity, TaggedText
from tests.conftest import ROOT
from tests.tools.reports.test_colours import channels, contrast, mixed

#: Pages with their own script for showing probabilities.
SCRIPTS = ("tagger/integrations/service/templates/script.js", "examples/browser/page.js")


def test_a_label_has_the_colour_of_its_place_in_the_sorted_label_set():
    labels = [f"{i:02}" for i in range(14)]
    colours = label_colours(labels[::-1])
    assert [colours[label] for label in labels] == [*range(12), 0, 1]
    assert colours == label_colours(labels)


@pytest.mark.parametrize(
    ("probability", "text"),
    [
        (0.0, "0 %"),
        (1e-9, "<1 %"),
        (0.005, "1 %"),
        (0.994, "99 %"),
        (1 - 1e-9, ">99 %"),
        (1, "100 %"),
    ],
)
def test_a_probability_is_0_or_100_percent_only_if_it_is(probability, text):
    assert spell_probability(probability) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("می\u200cخواهم", "'می\u200cخواهم'"),
        ("क्\u200dष's\n", "'क्\u200dष\\'s\\n'"),
        ("\u202e\x1b[31m\u200c", "'\\u202e\\x1b[31m\u200c'"),
        ("it's", '"it\'s"'),
    ],
)
def test_joiners_stay_in_quoted_texts_and_what_could_garble_a_terminal_does_not(text, shown):
    assert quoted(text) == shown


def test_scripts_of_pages_format_probabilities_by_the_same_rule():
    for path in SCRIPTS:
        script = (ROOT / path).read_text(encoding="utf-8")
        assert "const rounded = Math.round(100 * " in script
        assert re.search(r'if \(rounded === 0 && \w+ > 0\) return "<1 %";', script)
        assert re.search(
            r'return rounded === 100 && \w+ < 1 \? ">99 %" : `\$\{rounded\} %`;', script
        )
        assert not re.search(r"robability\w*\.toFixed", script)


def shown(label, known):
    entity = Entity(label, "Oslo", 0, 4, 0, 0, 0.9999)
    return TaggedText("Oslo", ["Oslo"], [], [], [entity], [], known_labels=known)._repr_html_()


def test_a_notebook_shows_labels_in_the_colours_of_the_pages():
    known = ["Chemical", "Disease", *map(str, range(9))]
    backgrounds = {
        label: re.search("background: (#[0-9a-f]{6});", shown(label, known))[1] for label in known
    }
    assert len(set(backgrounds.values())) == len(known)
    for label, index in label_colours(known).items():
        wanted = mixed(LABELS[index].light, "#ffffff", MARK_TINT)
        assert channels(backgrounds[label]) == pytest.approx(wanted, abs=1 / 255)
        assert contrast(channels(backgrounds[label]), channels("#000000")) >= 7
    assert "<bdi>Disease</bdi> &gt;99 %<" in shown("Disease", known)
    # Of a result that was made without them.
    assert "<bdi>Disease</bdi> &gt;99 %<" in shown("Disease", [])
