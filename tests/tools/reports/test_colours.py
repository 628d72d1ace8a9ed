import pytest

from tagger.tools.reports.page import CELL_TINT, PAGE, as_variable
from tagger_texts.display import LABELS, MARK_TINT

LIGHT, DARK = 0, 1


def channels(colour):
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def mixed(colour, other, percent):
    """CSS's color-mix in srgb."""
    return [
        (percent * a + (100 - percent) * b) / 100 for a, b in zip(channels(colour), channels(other))
    ]


def luminance(rgb):
    """As WCAG 2.2 defines it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("side", [LIGHT, DARK])
def test_texts_can_be_read_and_lines_and_bars_stand_out_on_every_background(side):
    page = {name: colour[side] for name, colour in PAGE.items()}
    for background in ("page", "card"):
        for text in ("ink", "muted", "right", "wrong"):
            assert contrast(channels(page[text]), channels(page[background])) >= 4.5
    for colour in LABELS:
        tint = mixed(colour[side], page["card"], MARK_TINT)
        assert contrast(channels(page["ink"]), tint) >= 7
        assert contrast(channels(page["wrong"]), tint) >= 4.5
    for name in ("right", "wrong"):
        tint = mixed(page[name], page["card"], CELL_TINT)
        assert contrast(channels(page["ink"]), tint) >= 4.5
    lines = [page[name] for name in ("first", "second", "third", "fourth")]
    for colour in [*(colour[side] for colour in LABELS), *lines]:
        assert contrast(channels(colour), channels(page["card"])) >= 3


def test_every_colour_of_a_figure_has_its_own_variable():
    lights = [colour.light for colour in [*PAGE.values(), *LABELS]]
    assert len(set(lights)) == len(lights)
    assert as_variable(LABELS[3].light.upper()) == "var(--label-3)"
