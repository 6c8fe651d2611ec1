"""Query callbacks that ship with memwb, also tried when ``why`` looks for a change that brings an entry in.

Each takes an :class:`~memwb.memory.InjectionQueryContext` alone and returns text or None, so it runs in an agent as
it runs here. Each needs nothing outside of itself: its source is what an editor opens with and what an export writes.
"""

from __future__ import annotations

from .types import InjectionQueryContext


def latest_user_message(context: InjectionQueryContext) -> str | None:
    """Search for the latest words of the user: within a tool loop, what the user asked last."""
    for message in reversed(context.messages):
        said = "\n".join(block["text"] for block in message["content"] if "text" in block).strip()
        if message["role"] == "user" and said:
            return said
    return None


def last_two_messages(context: InjectionQueryContext) -> str | None:
    """Search for the last two messages' text: what the user says, and what it answers."""
    texts = [
        "\n".join(block["text"] for block in message["content"] if "text" in block).strip()
        for message in context.messages[-2:]
    ]
    return "\n".join(said for said in texts if said)


def question_with_answer(context: InjectionQueryContext) -> str | None:
    """Search for the user's latest words, behind the assistant's question that they answer, where there is one."""
    import re

    said = []
    for message in context.messages:
        words = "\n".join(block["text"] for block in message["content"] if "text" in block).strip()
        if words:
            said.append((message["role"], words))
    while said and said[-1][0] != "user":
        said.pop()
    if not said:
        return None
    answer = said.pop()[1]
    if said and said[-1][0] == "assistant":
        sentences = re.split(r"(?<=[.!?？؟])\s+|\n", said[-1][1])
        questions = [sentence for sentence in sentences if sentence.endswith(("?", "？", "؟"))]
        if questions:
            return f"{questions[-1]}\n{answer}"
    return answer


def latest_without_stop_words(context: InjectionQueryContext) -> str | None:
    """Search for the user's latest words without English stop words, each word once, in their order."""
    import re

    from memwb.ranking import STOP_WORDS

    for message in reversed(context.messages):
        said = "\n".join(block["text"] for block in message["content"] if "text" in block).strip()
        if message["role"] == "user" and said:
            words = re.findall(r"\w+", said.lower())
            return " ".join(word for word in dict.fromkeys(words) if word not in STOP_WORDS)
    return None


def whole_history(context: InjectionQueryContext) -> str | None:
    """Search for everything said so far."""
    texts = [
        "\n".join(block["text"] for block in message["content"] if "text" in block).strip()
        for message in context.messages
    ]
    return "\n".join(said for said in texts if said)


SUGGESTED = {
    "query: the user's latest message": latest_user_message,
    "query: the last two messages": last_two_messages,
    "query: the assistant's question with the answer": question_with_answer,
    "query: the latest message without stop words": latest_without_stop_words,
    "query: the whole history": whole_history,
}
"""What ``why`` tries in place of the query in force, each in words."""
