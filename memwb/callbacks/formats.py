"""Format callbacks: each renders the entries into the text that the model gets, and escapes the markup in them.

What an entry holds cannot close its element or its line: ``<``, ``>`` and ``&`` are escaped, and where a line is all
that an entry has, line breaks become blanks.
"""

from __future__ import annotations

from ..memory.types import InjectionFormatContext


def default_block(context: InjectionFormatContext) -> str:
    """Write what is written without a format: a block with one escaped <entry> for each memory."""
    from html import escape

    lines = ["<memory>"]
    for entry in context.entries:
        name = escape(entry.store_name or "").replace("&#x27;", "&#39;")
        source = f' source="{name}"' if name else ""
        lines.append(f"<entry{source}>{escape(entry.content, quote=False)}</entry>")
    return "\n".join([*lines, "</memory>"])


def block_with_dates_and_ids(context: InjectionFormatContext) -> str:
    """Write the block with what an entry's metadata tells of its id and date: TestMemoryStore(provenance=True) does."""
    from html import escape

    lines = ["<memory>"]
    for entry in context.entries:
        told = entry.metadata or {}
        values = {
            "source": entry.store_name,
            "id": told.get("id") or told.get("message_id"),
            "date": told.get("date") or told.get("createdAt") or told.get("created_at"),
        }
        names = [f' {name}="{escape(str(value))}"' for name, value in values.items() if value]
        lines.append(f"<entry{''.join(names)}>{escape(entry.content, quote=False)}</entry>")
    return "\n".join([*lines, "</memory>"])


def bullet_list(context: InjectionFormatContext) -> str:
    """Write a block with a line for each memory; a line break inside of one becomes a blank."""
    from html import escape

    lines = ["<memory>"]
    for entry in context.entries:
        content = " ".join(entry.content.split())
        lines.append(f"- {escape(content, quote=False)}")
    return "\n".join([*lines, "</memory>"])


def grouped_by_store(context: InjectionFormatContext) -> str:
    """Write a block with the memories of each store together, the store of the best one first."""
    from html import escape

    lines = ["<memory>"]
    for name in dict.fromkeys(entry.store_name or "" for entry in context.entries):
        lines.append(f'<store name="{escape(name)}">')
        contents = [entry.content for entry in context.entries if (entry.store_name or "") == name]
        lines += [f"<entry>{escape(content, quote=False)}</entry>" for content in contents]
        lines.append("</store>")
    return "\n".join([*lines, "</memory>"])


def token_budgeted(context: InjectionFormatContext, budget: int = 500) -> str:
    """Write the default block, without the memories that its tokens do not suffice for; best first, each whole or not.

    A token is taken to be 4 characters.
    """
    from html import escape

    begin, end = "<memory>", "\n</memory>"
    block = begin
    for entry in context.entries:
        name = escape(entry.store_name or "").replace("&#x27;", "&#39;")
        source = f' source="{name}"' if name else ""
        line = f"\n<entry{source}>{escape(entry.content, quote=False)}</entry>"
        if len(block + line + end) <= 4 * budget:
            block += line
    return "" if block == begin else block + end
