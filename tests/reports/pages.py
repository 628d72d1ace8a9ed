"""Reads pages of HTML as strictly as a browser does not."""

from html.parser import HTMLParser

VOID = {"meta", "br", "hr"}


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.tags, self.ids, self.cells = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("th", "td"):
            self.cells.append(data)


def read_page(path):
    """Returns what a page holds, once it is known to be whole and to need nothing beside it."""
    text = path.read_text(encoding="utf-8")
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert not reader.open
    assert len(set(reader.ids)) == len(reader.ids)
    for tag, attributes in reader.tags:
        assert tag not in ("script", "link", "iframe", "img")
        assert all(attributes.get(name, "#")[0] == "#" for name in ("src", "href", "xlink:href"))
        assert tag != "svg" or attributes["aria-label"]
    return reader
