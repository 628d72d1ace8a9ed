"""Reads HTML pages more strictly than a browser."""

import re
from html.parser import HTMLParser

VOID = {"meta", "br", "hr"}


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.tags, self.ids, self.cells, self.text = [], [], [], [], ""

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]
        if tag in ("th", "td"):
            self.cells.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"th", "td"} & set(self.open):
            self.cells[-1] += data
        if not {"script", "style"} & set(self.open):
            self.text += data


def read_page(path):
    """Returns the contents of a page after checking that it is complete and self-contained."""
    source = path.read_text(encoding="utf-8")
    reader = _Reader()
    reader.feed(source)
    reader.close()
    reader.text = " ".join(reader.text.split())
    assert not reader.open
    assert len(set(reader.ids)) == len(reader.ids)
    names = [tag for tag, _ in reader.tags]
    assert not {"link", "iframe", "img", "object", "base"} & set(names)
    assert names.count("script") <= 1
    assert names.count("table") == names.count("caption")
    assert names.count("h1") == names.count("main") == 1
    for tag, attributes in reader.tags:
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href", "xlink:href"):
            assert attributes.get(name, "#")[0] == "#"
            assert tag != "a" or attributes["href"][1:] in reader.ids
        assert tag != "svg" or attributes["aria-label"]
        # What scrolls can be scrolled by the keyboard, and has a name.
        if attributes.get("role") == "region":
            assert attributes["tabindex"] == "0"
            assert attributes["aria-label"]
    assert "url(" not in source.replace("url(#", "")
    # Every colour of a figure follows the reader's choice of light or dark.
    assert not re.search(r'style="[^"]*(fill|stroke): #', source)
    return reader


def row(page, first):
    """Returns the cells of a page from the first one with this text."""
    return page.cells[page.cells.index(first) :]
