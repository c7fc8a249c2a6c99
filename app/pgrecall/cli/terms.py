"""pgrecall terms"""

from __future__ import annotations

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent
from pgrecall.cli.options import Limit
from pgrecall.cli.output import Output, right, table
from pgrecall.execution import MemoryRepository

app = App(panel="Store and search")


@app.declare("pgrecall terms --limit 50 --agent zoe")
def terms(repo: MemoryRepository, agent: Agent, limit: Limit = 20) -> Output:
    """List the words that are most typical of an agent's memories, with their weight in a query.

    Words are shown as they are compared: in lower case, without accents and endings.
    """
    found = repo.upkeep.telling_terms(agent, limit=limit)
    shown = table(
        "term",
        *right("memories", "weight", "telling"),
        rows=(
            (one.term, f"{one.memories:,}", f"{one.weight:.3f}", f"{one.telling:.3f}")
            for one in found
        ),
    )
    return Output((one.record() for one in found), shown, otherwise="no words")
