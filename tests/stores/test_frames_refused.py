"""What a store is not made of: a DataFrame, whose iteration gives the names of its columns."""

from __future__ import annotations

import pandas as pd
import pytest

from memwb.errors import ConfigError
from memwb.stores import TestMemoryStore


async def test_a_frame_is_refused_with_the_way_that_works():
    frame = pd.DataFrame({"content": ["I use a cane.", "I like jazz."]})

    with pytest.raises(ConfigError, match=r"a DataFrame is no list of records.*to_dict\(\"records\"\)"):
        TestMemoryStore.from_records(frame)
    assert await TestMemoryStore.from_records(frame.to_dict("records"), name="notes").count() == 2
