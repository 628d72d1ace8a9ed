"""Every figure of the pages has a row in docs/claims.tsv: which command made it, and when."""

import re

import pytest

from scripts.experiments.check_claims import TABLE, moved, rows_of
from tests.pages import PAGES

ROWS = rows_of(TABLE)
#: A number with a unit or a spread, a ratio, a probability, or a row of a printed table.
FIGURE = re.compile(
    r"\d (times|GB|ms|points|sentences/s|processor seconds)\b|\b0\.\d\d|\d ± \d|F1 of \d"
    r"|^(AllenNLP|ours|conll)\S*.* \d|^\| .*\| ours"
)


#: Pages about the project's work and not about results.
OTHERS = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
#: Options, settings and prompts are no claims.
SETTING = re.compile(r"--confidence|--sets|lr: |group_quantiles: |^\$")


def lines_with_headings(text):
    """Yields the lines of a page, each with the heading above it."""
    heading, is_code = "", False
    for line in text.splitlines():
        is_code ^= line.lstrip().startswith("```")
        if not is_code and re.match(r"#+ ", line):
            heading = line
        yield heading, line


@pytest.mark.parametrize("page", sorted(set(PAGES) - set(OTHERS)))
def test_every_figure_has_a_row(page):
    texts = [row["text"] for row in ROWS if row["page"] == page]
    unknown = [
        line
        for heading, line in lines_with_headings(PAGES[page])
        if FIGURE.search(line)
        and not SETTING.search(line)
        and heading not in texts  # a row for the whole section
        and not any(text in line for text in texts)
    ]
    assert unknown == []


def test_the_main_pages_have_a_row_for_each_figure():
    for page in ("README.md", "docs/index.md", "docs/background/speed.md"):
        rows = [row["text"] for row in ROWS if row["page"] == page]
        assert len(rows) >= 5
        assert not any(text.startswith("#") for text in rows)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['page']}: {row['text']}")
def test_every_row_is_complete_and_its_text_is_on_its_page(row):
    assert row["text"] in PAGES[row["page"]]
    assert all(row[key] for key in ("claim", "command", "value", "machine"))
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", row["date"])
    if row["pattern"]:
        assert moved(row, "") == "the command did not print it"
        float(row["value"]), float(row["spread"])


def test_a_figure_that_moves_by_more_than_its_spread_is_printed():
    row = {"pattern": r"^F1 (\S+)", "value": "0.92", "spread": "0.01"}
    assert moved(row, "so\nF1 0.93\n") == ""
    assert moved(row, "F1 0.90\n") == "0.92 is now 0.9"
