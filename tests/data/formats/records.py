"""Records of annotation tools for the tests of their formats."""


def span(start, end, label, text):
    value = {"start": start, "end": end, "labels": [label], "text": text}
    return {"value": value, "id": "x", "from_name": "label", "to_name": "text", "type": "labels"}


def task(*annotations):
    return {"id": 5, "data": {"text": "Ada left", "source": "a"}, "annotations": [*annotations]}


def row(number, form, upos, misc="_"):
    """A token line of CoNLL-U."""
    return f"{number}\t{form}\t_\t{upos}\t_\t_\t_\t_\t_\t{misc}\n"
