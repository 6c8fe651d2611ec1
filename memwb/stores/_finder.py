"""What makes searching a table fast: the words of its contents, prepared as far as the queries so far are worth it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from ..ranking import Index, Tokenizer, padded, tokenize

if TYPE_CHECKING:
    from ._records import Contents


_FEW = 20
"""So many words are looked for in all contents in a time in which no index of them could be built."""


class Finder:
    """Answers the queries over a table's contents with one tokenizer.

    The first query is answered by looking for its words alone, from the second on there is an index of all words. With
    many words, or a tokenizer other than the documented one, looking costs as much as the index, which is then built
    at once.

    The index follows the contents: a record that is added at the end is added to it. What cannot be added (a time that
    is not the latest) sends it back to the first query.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._index: Index | None = None
        self._padded: list[str] = []
        self._asked = 0

    def index(self, contents: Contents, tokens: Collection[str]) -> Index:
        """Return an index over the contents that knows these tokens at least."""
        index = self._index
        if index is not None and index.documents > contents.size:  # another thread has added to these contents since
            return self._looked_up(contents, tokens)
        index = self._brought_up_to(contents)
        if index is None:
            self._asked += 1
            if self._asked == 1 and self.tokenizer is tokenize and len(tokens) <= _FEW:
                return self._looked_up(contents, tokens)
            index = self._index = self._built(contents)
            self._asked = 0
        return index

    def replaced(self, contents: Contents, place: int, text: str) -> Finder:
        """Return what serves the contents in which a record has another text."""
        before = contents.table.contents[place]
        return self._changed(
            contents, lambda index: index.replaced(place, set(self.tokenizer(before)), set(self.tokenizer(text)))
        )

    def without(self, contents: Contents, place: int) -> Finder:
        """Return what serves the contents in which a record is left out."""
        text = contents.table.contents[place]
        return self._changed(contents, lambda index: index.without(place, set(self.tokenizer(text))))

    def _changed(self, contents: Contents, change: Callable[[Index], Index]) -> Finder:
        new = Finder(self.tokenizer)
        new._asked = self._asked
        try:
            index = self._brought_up_to(contents)
            new._index = None if index is None else change(index)
        except Exception:  # a tokenizer of the user's that cannot take a text: the next search says so, not the edit
            new._index = None
        return new

    def _brought_up_to(self, contents: Contents) -> Index | None:
        """Return the index with what was added since the last query, if there is one and it can be added."""
        index = self._index
        if index is None or index.documents > contents.size:
            return None
        start = index.documents
        if start < contents.size:
            more = [self.tokenizer(text) for text in contents.table.contents[start : contents.size]]
            index = self._index = index.extended(more, contents.table.times[start : contents.size])
        return index

    def _words(self, contents: Contents) -> list[str]:
        known = self._padded
        if len(known) < contents.size:
            known = [*known, *padded(contents.table.contents[len(known) : contents.size])]
            self._padded = known
        return known[: contents.size] if len(known) > contents.size else known

    def _looked_up(self, contents: Contents, tokens: Collection[str]) -> Index:
        """Return an index of these tokens alone."""
        times = contents.table.times[: contents.size]
        if self.tokenizer is tokenize:
            return Index.of_some({token: f" {token} " for token in tokens}, self._words(contents), times)
        texts = contents.table.contents[: contents.size]
        return Index.of_some({token: token for token in tokens}, [set(self.tokenizer(text)) for text in texts], times)

    def _built(self, contents: Contents) -> Index:
        times = contents.table.times[: contents.size]
        if self.tokenizer is tokenize:
            words = self._words(contents)
            self._padded = []
            return Index.build(lambda place: words[place].split(), times)
        texts, tokenizer = contents.table.contents, self.tokenizer
        return Index.build(lambda place: tokenizer(texts[place]), times)
