"""Parse reports for tests: tables, text, headings, ids and tags."""

from __future__ import annotations

from html.parser import HTMLParser

_VOID = {"meta", "link", "input", "br", "hr", "img", "stop", "path", "use"}


class Page(HTMLParser):
    """The contents of a page.

    Attributes
    ----------
    tables : dict of str to list of list of (text, title)
        Rows of the table bodies, by id.
    headings : list of (int, str)
    ids : list of str
    tags : list of (str, dict)
    text : str
        All text outside of style and script.
    script : dict of str to str
        Contents of scripts by id or type.
    """

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tables, self.headings, self.ids, self.tags = {}, [], [], []
        self.text, self.script = "", {}
        self._stack: list[tuple[str, dict[str, str]]] = []
        self._table = None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        attributes = {name: value or "" for name, value in attrs}
        self.tags.append((tag, attributes))
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "table":
            self._table = self.tables[attributes["id"]] = []
        elif tag == "tr" and self._inside("tbody"):
            self._table.append([])
        elif tag in ("td", "th") and self._inside("tbody"):
            self._table[-1].append(("", attributes.get("title", "")))
        elif tag in ("h1", "h2", "h3", "h4"):
            self.headings.append((int(tag[1]), ""))
        if tag not in _VOID:
            self._stack.append((tag, attributes))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        while self._stack and self._stack.pop()[0] != tag:
            pass

    def handle_data(self, data):
        tag, attributes = self._stack[-1] if self._stack else ("", {})
        if tag in ("script", "style"):
            name = attributes.get("id") or attributes.get("type") or tag
            self.script[name] = self.script.get(name, "") + data
            return
        self.text += data
        if self._inside("tbody"):
            for cell in ("td", "th"):
                if self._inside(cell):
                    text, title = self._table[-1][-1]
                    self._table[-1][-1] = (text + data, title)
        if self.headings and self._inside(f"h{self.headings[-1][0]}"):
            level, text = self.headings[-1]
            self.headings[-1] = (level, text + data)

    def _inside(self, tag):
        return any(one == tag for one, _ in self._stack)

    def column(self, table, number):
        """The numbers of a column in full precision."""
        return [float(line[number][1]) for line in self.tables[table] if line[number][1]]

    def line(self, table, name):
        """The texts of the row that begins with a name."""
        return next([text for text, _ in line] for line in self.tables[table] if line[0][0] == name)
