"""Guards of the stores for LangGraph and LangChain."""

from tests.mutants.mutant import Mutant

STORE = "integration/test_recall_store.py"
ALIKE = "integration/test_langgraph.py"
DOCUMENTS = "integration/test_langchain.py"
OURS = "app/pgrecall/langgraph"

MUTANTS = (
    Mutant(
        f"{OURS}/items.py",
        "memory.content_type == CONTENT_TYPE",
        "memory.content_type is not None",
        f"{STORE}::test_namespaces_belong_to_agents",
    ),
    Mutant(
        f"{OURS}/items.py",
        "memory.expires_at > datetime.now(UTC)",
        "True",
        f"{ALIKE}::test_an_item_is_gone",
    ),
    Mutant(
        f"{OURS}/items.py",
        "[: len(prefix)] == prefix",
        "[: len(prefix)] >= prefix",
        f"{ALIKE}::test_each_store_answers_alike",
    ),
    Mutant(
        f"{OURS}/items.py",
        ' or "." in label',
        "",
        f"{STORE}::test_what_cannot_be_used_is_named",
    ),
    Mutant(
        f"{OURS}/items.py",
        'and op.key[0] != "["',
        "",
        f"{ALIKE}::test_each_store_answers_alike",
    ),
    Mutant(
        f"{OURS}/items.py",
        "self.either.prefix + owner",
        "owner",
        f"{STORE}::test_namespaces_may_belong_to_teams",
    ),
    Mutant(
        f"{OURS}/store.py",
        "self._touch and is_complete",
        "is_complete",
        f"{STORE}::test_scores_are_those_of_the_profile",
    ),
    Mutant(
        f"{OURS}/store.py",
        'query = (yield call("_ask", Ask("embed_query", (query,)))).vectors[0]',
        "pass",
        f"{STORE}::test_a_batch_is_embedded_at_once",
    ),
    Mutant(
        "app/pgrecall/langchain.py",
        "owner = self._either.prefix + str(self._agent_id)",
        "owner = str(self._agent_id)",
        f"{DOCUMENTS}::test_documents_may_belong_to_a_team",
    ),
)
