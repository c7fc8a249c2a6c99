"""pgrecall evaluate, tune"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pgrecall.cli.app import App
from pgrecall.cli.call import Call
from pgrecall.cli.options import Profiles
from pgrecall.cli.output import Output, progress_bar, require_writable
from pgrecall.cli.parsers import argument, option
from pgrecall.core.display import Cell, Part, Tone, plain
from pgrecall.core.quoting import listed
from pgrecall.errors import InputError, PgRecallError
from pgrecall.evaluation.checked_query import JudgedQuery
from pgrecall.evaluation.queries_file import load_queries
from pgrecall.evaluation.results import evaluation_grids, floor_grids
from pgrecall.evaluation.tuned import Tuning
from pgrecall.execution import MemoryRepository
from pgrecall.scoring import profiles
from pgrecall.scoring.profiles import BUILT_IN, DEFAULT

app = App()

TONES: dict[str, Tone] = {"better": "good", "thin": "warn", "no better": "bad"}
"""Verdict → the color of the summary."""

QueriesFile = Annotated[
    Path | None,
    argument(
        "A JSON Lines file. Each line has query (a text or a vector) and relevant (ids), and may "
        "have group, time, period and agent.",
        show_default=False,
    ),
]
Judged = Annotated[
    bool, option("Use the queries that people judged, as by `pgrecall judge`.", "--judged")
]
ANSWERS = {"yes": True, "no": False, "unknown": None}
JUDGED: dict[str, Any] = {
    "without": ("agent_id", "queries"),
    "agents": option(
        "Agent that the queries are about. May be repeated: then each query names its own.",
        "--agent",
        "-a",
    ),
    "k": option("The k of recall@k and nDCG@k.", "-k"),
}
"""The options that `evaluate` and `tune` share."""


@app.method(
    "evaluation.judge",
    'pgrecall judge 0197a3c2 "which instrument?" --agent zoe',
    'pgrecall judge 0197a3c2 "which instrument?" --answer no --agent zoe',
    without=("answers",),
    query=argument("The question."),
)
def judge(
    call: Call,
    answer: Annotated[
        Literal["yes", "no", "unknown"],
        option("Whether the memory answers it; unknown takes back what was said."),
    ] = "yes",
) -> Output:
    """Say whether a memory answers a question, for evaluate and tune with --judged.

    It changes no counter and no score.
    """
    changed = call(answers=ANSWERS[answer])
    record = {"id": call.arguments["memory_id"], "answers": ANSWERS[answer], "changed": changed}
    return Output([record], "judged" if changed else "it was judged so before")


@app.method(
    "evaluation.evaluate",
    "pgrecall evaluate queries.jsonl --agent zoe -p five_factor -p hybrid",
    "pgrecall evaluate --judged --agent zoe",
    profiles=Profiles,
    **JUDGED,
)
def evaluate(call: Call, file: QueriesFile = None, judged: Judged = False) -> Output:
    """Measure how well profiles find the memories that answer judged queries.

    recall@k is the share of the relevant memories among the first k. MRR is the mean of 1 / the
    rank of the first relevant memory. nDCG@k is 1 for the best possible order. Every profile is
    compared with the first: the difference has a 95 % interval, and a color where it is clear.
    Similarity alone, keyword alone and hybrid are always measured, too.

    Queries that name no relevant memory show what each min_relevance does: how many of them find
    nothing, and how much recall that costs.
    """
    _require_source(file, judged=judged)
    compared = call.arguments.get("profiles") or list(BUILT_IN.values())
    with progress_bar("ranking") as advance:
        queries = _queries(call, file)
        evaluation = call(agent_id=None, queries=queries, profiles=compared, on_progress=advance)
    return Output(
        [evaluation],
        *evaluation_grids(evaluation),
        *floor_grids(evaluation),
        notes=_missing(evaluation.missing, call),
    )


@app.method(
    "evaluation.tune",
    "pgrecall tune queries.jsonl --agent zoe --start five_factor --output tuned.toml",
    "pgrecall tune --judged --agent zoe",
    start=option(
        "Profile to start from: a name, or a .toml or .json file. Default: that of `pgrecall "
        "profiles default`, at first hybrid."
    ),
    folds=option("Parts of the queries, or of the agents; each is judged by what the others find."),
    **JUDGED,
)
def tune(
    call: Call,
    file: QueriesFile = None,
    judged: Judged = False,
    output: Annotated[
        Path, option("File for the profile: .toml or .json.", "--output", "-o")
    ] = Path("tuned.toml"),
    force: Annotated[bool, option("Overwrite the file.", "--force")] = False,
) -> Output:
    """Search for better weights of a profile's signals, and write the profile to a file.

    Each part of the judged queries is ranked by what the other parts find; with several agents,
    each agent is in one part. The profile is only written if nDCG@k rises there. The same --seed
    gives the same profile.
    """
    _require_source(file, judged=judged)
    if output.suffix.lower() not in (".toml", ".json"):
        raise InputError(f"{output}: the name of a profile file must end in .toml or .json")
    if output.exists() and not force:
        raise InputError(f"{output} already exists; name another file, or pass --force")
    require_writable(output)
    DEFAULT.renamed(output.stem)  # a name that no profile can have is reported before the work
    with progress_bar("searching") as advance:
        queries = _queries(call, file)
        tuning: Tuning = call(agent_id=None, queries=queries, on_progress=advance)
    problem, is_written = None, False
    if tuning.proposed is not None:
        try:
            profiles.save(tuning.proposed.renamed(output.stem), output)
            is_written = True
        except PgRecallError as error:  # raised once the results are printed
            problem = error
    summary, *parts = tuning._parts()
    assert isinstance(summary, str)
    return Output(
        [tuning.record() | {"written": str(output) if is_written else None}],
        *parts,
        Cell(plain(summary), TONES[tuning.verdict]),
        *([f"written to {output}"] if is_written else []),
        notes=_missing(tuning.held_out.missing, call),
        problem=problem,
    )


def _require_source(file: Path | None, *, judged: bool) -> None:
    """Raises InputError unless there is one source of queries."""
    if (file is not None) == judged:
        raise InputError("give one of these: a file of judged queries, or --judged")
    if file is not None and not file.is_file():
        raise InputError(f"{file} is not a file")


def _queries(call: Call, file: Path | None) -> list[JudgedQuery]:
    """The file's queries, or those judged; raises InputError where there are none."""
    agents: Sequence[str] = call.arguments.get("agents", ())
    repo: MemoryRepository = call.repo
    if file is not None:
        agent = agents[0] if len(agents) == 1 else None
        return load_queries(file, agent, of_teams=bool(repo._tables.prefix))
    if not agents:
        raise InputError("--judged needs --agent: the agent whose queries were judged")
    queries = [query for agent in agents for query in repo.evaluation.judged_queries(agent)]
    if not queries:
        raise InputError(f"no queries are judged for {listed(agents)}; use `pgrecall judge`")
    return queries


def _missing(missing: int, call: Call) -> list[Part]:
    """A note about relevant memories that the agents do not have."""
    if not missing:
        return []
    agents = call.arguments.get("agents")
    owners = plain(listed(agents)) if agents else "the agents that the queries name"
    one = missing == 1
    text = (
        f"{missing:,} relevant {'memory does' if one else 'memories do'} not exist for {owners} "
        f"and {'counts' if one else 'count'} as not found"
    )
    return [Cell(text, "warn")]
