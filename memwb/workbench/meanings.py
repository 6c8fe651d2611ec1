"""What each setting means, in a line; where the installed SDK does otherwise; and how long everything took."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..memory import InjectionTrace
    from .state import WorkbenchState

MEANINGS = {
    "max_entries": "How many entries reach the prompt, from all stores together. Each store is asked for so many; what "
    "they find is joined in the stores' order and cut, so that an early store can take every place. A store's own "
    "max_search_results has no say in it: that is for searches which name no number.",
    "trigger": "When memory is looked up: userTurn only where the user has just spoken, everyTurn before every model "
    "call, also after a tool's result; or a predicate of your own (edit trigger).",
    "query": "What is searched. By default the text of the user's latest message, as it is, question words included.",
    "format": "How the entries become text. By default one escaped <entry> a line inside <memory>.",
    "placement": "Where the block lands in the user's latest message: prepend puts it before the text, as the Strands "
    "SDK does up to 1.53, append after it, as it does from 1.54 on. An agent of the SDK pays no heed to this setting.",
    "stores": "Which stores are searched, and in which order: earlier ones keep their entries when the cut comes.",
    "tokenizer": "How a store of memwb parts texts into words. By default at spaces and signs, and every word counts; "
    "others leave stop words out, or find words in texts without spaces.",
    "token_counter": "What counts the tokens. By default they are estimated, characters / 4, and shown with a ~; "
    "memwb.tokens.bpe() counts as OpenAI's models do.",
    "messages": "The conversation. A list of texts takes turns and ends with the user's: the last one is what the user "
    "says, the one before it the assistant's.",
    "call": "Which model call is shown: what the model had been told until then. Later messages are not shown to it.",
    "state": "What a trigger predicate finds under context.state; a copy of the agent's, which previews leave alone.",
}
"""One explanation for each setting of ``wb.set(...)``."""


def placement_note(state: WorkbenchState) -> str:
    """Say where the installed SDK differs from the placement that is shown; "" where it does not, or none is there."""
    from ..bridge import strands

    settings, release = state.settings, strands.installed()
    if settings is None or release is None or strands.placement() == settings.placement:
        return ""
    return (
        f"The installed strands-agents {release[0]}.{release[1]} {strands.placement()}s the block: an agent here gets "
        f"it there, whatever is set. The preview {settings.placement}s it."
    )


def limit_note(state: WorkbenchState) -> str:
    """Name the stores whose own ``max_search_results`` an injection overrules; "" where none has another one."""
    if state.settings is None:
        return ""
    limit = state.settings.max_entries
    own = {store.name: getattr(store, "max_search_results", None) for store in state.source.stores}
    told = [
        f"{name!r} was built with max_search_results={most}" for name, most in own.items() if most not in (None, limit)
    ]
    return f"{'; '.join(told)}: without effect here, an injection asks for max_entries ({limit:,})." if told else ""


def timings(trace: InjectionTrace) -> list[tuple[str, float]]:
    """Return what took how many seconds: the stages in their order, after the search its stores."""
    rows: list[tuple[str, float]] = []
    for stage in trace.stages:
        if stage.status == "not reached":
            continue
        rows.append((stage.name, stage.seconds))
        if stage.name == "search":
            rows += [(f"store {answer.store.name}", answer.seconds) for answer in trace.answers]
    return [*rows, ("all", trace.seconds)]
