"""Any sequence of writes leaves the store as a dict would be, and its index as one made anew."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from memwb.catalog import Record
from memwb.errors import ConflictError, DuplicateEntryError
from memwb.stores import SQLiteMemoryStore

CONTENTS = (
    st.lists(st.sampled_from(["tea", "Tea", "milk", "東京", "é", " "]), min_size=1, max_size=4)
    .map("".join)
    .filter(str.strip)
)
METADATA = st.none() | st.dictionaries(
    st.sampled_from("ab"), st.integers() | st.none() | st.text(max_size=3), max_size=2
)
OWNERS = st.sampled_from([None, "alice", "bob"])


class Machine(RuleBasedStateMachine):
    """A store beside a dict of its records, in the order of adding."""

    ids = Bundle("ids")
    done = Bundle("done")

    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.store = SQLiteMemoryStore(":memory:")
        self.model: dict[str, Record] = {}

    def teardown(self):
        self.store.close()
        self.loop.close()

    def run(self, call):
        return self.loop.run_until_complete(call)

    def holder(self, content, owner, but=None):
        return next(
            (
                record.id
                for record in self.model.values()
                if (record.content.strip(), record.owner) == (content.strip(), owner) and record.id != but
            ),
            None,
        )

    @rule(target=ids, content=CONTENTS, metadata=METADATA, owner=OWNERS)
    def add(self, content, metadata, owner):
        held = self.holder(content, owner)
        result = self.run(self.store.add(content, metadata, owner=owner))
        assert (result.deduplicated, held in (None, result.id)) == (held is not None, True)
        if held is None:
            record = self.run(self.store.get(result.id))
            assert (record.content, record.metadata, record.owner) == (content, metadata, owner)
            self.model[result.id] = record
        return result.id

    @rule(contents=st.lists(CONTENTS, max_size=4))
    def add_many(self, contents):
        results = self.run(self.store.add_many(contents))
        for content, result in zip(contents, results, strict=True):
            if not result.deduplicated:
                assert self.holder(content, None) is None
                self.model[result.id] = self.run(self.store.get(result.id))

    @rule(id=ids, content=st.none() | CONTENTS, metadata=METADATA)
    def update(self, id, content, metadata):
        before = self.model.get(id)
        if before is None:
            with pytest.raises(KeyError):
                self.run(self.store.update(id, content, metadata))
        elif content is not None and self.holder(content, before.owner, but=id):
            with pytest.raises(DuplicateEntryError):
                self.run(self.store.update(id, content, metadata))
        else:
            after = self.run(self.store.update(id, content, metadata))
            expected = replace(
                before, content=content or before.content, metadata=before.metadata if metadata is None else metadata
            )
            assert replace(after, updated_at=None) == replace(expected, updated_at=None)
            self.model[id] = after

    @rule(id=ids)
    def delete(self, id):
        assert self.run(self.store.delete(id)) == (self.model.pop(id, None) is not None)

    @rule()
    def clear(self):
        self.run(self.store.clear())
        self.model.clear()

    @rule()
    def reindex(self):
        self.run(self.store.reindex())

    @rule(target=done, id=ids, content=CONTENTS, new=CONTENTS)
    def exchange(self, id, content, new):
        """Change one record, remove the first and add another one, or nothing at all; and keep what there was."""
        records = list(self.model.values())
        before = list(dict.fromkeys([*records[:1], *(record for record in records if record.id == id)]))
        after = [replace(record, content=content) for record in before[1:]] + [Record(f"new {len(records)}", new)]
        kept = dict(self.model)
        try:
            done = self.run(self.store.exchange(before, after))
        except DuplicateEntryError:
            return None
        for record in before:
            del self.model[record.id]
        for record in done.after:
            self.model[record.id] = record
        order = [record.id for record in self.run(self.store.page(0, 1000))]
        self.model = {id: self.model[id] for id in order}
        return done, kept, dict(self.model)

    @rule(made=done)
    def take_back(self, made):
        if made is None:
            return
        done, before, after = made
        try:
            self.run(self.store.take_back(done))
        except (ConflictError, DuplicateEntryError):
            assert after != self.model
            return
        if after == self.model:
            self.model = before
        else:
            self.model = {record.id: record for record in self.run(self.store.page(0, 1000))}

    @invariant()
    def it_holds_what_the_dict_holds(self):
        records = list(self.model.values())
        assert self.run(self.store.page(0, 1000)) == records
        assert self.run(self.store.page(1, 2)) == records[1:3]
        assert self.run(self.store.count()) == len(records)
        assert self.run(self.store.count("TEA")) == sum("tea" in record.content.casefold() for record in records)

    @invariant()
    def its_index_is_that_of_a_store_made_anew(self):
        anew = SQLiteMemoryStore(":memory:")
        self.run(anew.add_many(list(self.model.values())))
        for query in ("tea milk", "東京 é"):
            assert self.run(self.store.search(query)) == self.run(anew.search(query))
        anew.close()


Machine.TestCase.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)
TestMachine = Machine.TestCase
