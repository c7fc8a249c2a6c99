"""The long-term memory of LangGraph, in pgrecall. Needs the extra `langgraph`.

A namespace belongs to an agent: that of its first labels, two by default, joined by dots. So
("memories", "ada") and ("memories", "ada", "facts") are namespaces of the agent memories.ada. An
item is a memory with a key: its content is the text of the item's fields, and its metadata is

{"namespace": ["memories", "ada"], "key": "tea", "value": {"text": "…"}, "ttl_minutes": 90}

Memories of other origin are no items.
"""

from pgrecall.langgraph.store import RecallStore

__all__ = ["RecallStore"]
