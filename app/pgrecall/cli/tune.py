"""pgrecall tune"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Unpack

from rich.console import RenderableType
from rich.progress import Progress
from rich.text import Text

from pgrecall.cli.app import App
from pgrecall.cli.embedding import EmbedsTexts
from pgrecall.cli.evaluate import evaluation_shown
from pgrecall.cli.judged import (
    Judging,
    QueriesFile,
    Recorded,
    missing_noted,
    queries_of,
    require_source,
)
from pgrecall.cli.output import Output, complaints, require_writable, right, table
from pgrecall.cli.written import option
from pgrecall.errors import InputError
from pgrecall.evaluation.floors import Floor
from pgrecall.evaluation.tuned import FEWEST, Tuning
from pgrecall.scoring import profiles
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profiles import DEFAULT
from pgrecall.scoring.signals import Recency

app = App(panel="Choose a profile")

VERDICTS = {
    "better": ("better on the held-out queries", "green"),
    "thin": (
        "better on the held-out queries, but there are too few to be sure: judge more queries",
        "yellow",
    ),
    "no better": ("no better on the held-out queries; no profile is proposed", "red"),
}
"""Verdict → its text and its color. Other verdicts name a baseline that is better."""


@app.declare(
    "pgrecall tune queries.jsonl --agent zoe --start five_factor --output tuned.toml",
    "pgrecall tune --recorded --agent zoe --precision 0.9",
)
def tune(
    repo: EmbedsTexts,
    file: QueriesFile = None,
    recorded: Recorded = False,
    start: Annotated[
        Profile | str | None,
        option(
            "Profile to start from: a name, or a .toml or .json file. Default: that of `pgrecall "
            "profiles default`, at first hybrid."
        ),
    ] = None,
    output: Annotated[
        Path, option("File for the profile: .toml or .json.", "--output", "-o")
    ] = Path("tuned.toml"),
    force: Annotated[bool, option("Overwrite the file.", "--force")] = False,
    held_out: Annotated[
        float, option("Share of the queries, or of the agents, to judge by.")
    ] = 0.5,
    precision: Annotated[
        float | None,
        option(
            "Propose a min_relevance: of the queries that find nothing, at least this share has "
            "no answer, 0 to 1."
        ),
    ] = None,
    **options: Unpack[Judging],
) -> Output:
    """Search for weights and a half-life that find more, and write them as a profile.

    One part of the judged queries chooses the profile, and the other part, held out, judges it. The
    profile is only written if it does better on the held-out queries, and no worse than similarity
    alone, keyword alone and hybrid. A profile without the signal keyword may get it. With several
    agents, each is in one part. --precision proposes a min_relevance, too. The same --seed gives
    the same profile.
    """
    require_source(file, recorded=recorded)
    if output.suffix.lower() not in (".toml", ".json"):
        raise InputError(f"{output}: the name of a profile file must end in .toml or .json")
    if output.exists() and not force:
        raise InputError(f"{output} already exists; name another file, or pass --force")
    require_writable(output)
    DEFAULT.renamed(output.stem)  # a name that no profile can have is reported before the work
    agents = options.get("agents", ())
    with Progress(console=complaints) as progress:
        task = progress.add_task("searching", total=None)
        found = repo.evaluation.tune(
            None,
            queries_of(repo, agents, file),
            start=start,
            held_out=held_out,
            precision=precision,
            on_progress=lambda done, of: progress.update(task, completed=done, total=of),
            **options,
        )
    problem = None if found.proposed is None else _problem_saving(found.proposed, output)
    is_written = found.proposed is not None and problem is None
    missing = missing_noted(found.training.missing + found.held_out.missing, agents)
    return Output(
        [found.record() | {"written": str(output) if is_written else None}],
        *_shown(found),
        *([f"written to {output}"] if is_written else []),
        notes=[Text(one, style="yellow") for one in missing],
        problem=problem,
    )


def _problem_saving(profile: Profile, output: Path) -> InputError | None:
    """Writes a profile, called as its file is; what is wrong waits until the results are shown."""
    try:
        profiles.save(profile.renamed(output.stem), output)
    except InputError as problem:
        return problem
    return None


def _shown(found: Tuning) -> list[RenderableType]:
    old, new = found.start.weights, found.found.weights
    rows = [
        (name, f"{old[name]:.3f}" if name in old else "–", f"{weight:.3f}")
        for name, weight in new.items()  # in the order of the start; what was brought in comes last
    ]
    old_half_life, half_life = _half_life(found.start), _half_life(found.found)
    if half_life is not None and old_half_life is not None:
        rows.append(("half-life, days", f"{old_half_life:.1f}", f"{half_life:.1f}"))
    lines: list[RenderableType] = [
        table("signal", *right(found.start.name, "found"), rows=rows, title="weights"),
        Text("\nqueries that chose the profile", style="bold"),
        *evaluation_shown(found.training),
        Text("\nheld-out queries", style="bold"),
        *evaluation_shown(found.held_out),
    ]
    if found.questions < FEWEST:
        lines.append(Text(f"only {found.questions} queries were held out", style="yellow"))
    if found.precision is not None:
        lines.append(_floor(found.floor, found.precision, found.held_out.k))
    verdict = (f"{found.verdict}; no profile is proposed", "red")
    said, color = VERDICTS.get(found.verdict, verdict)
    return [*lines, Text(said, style=color)]


def _floor(floor: Floor | None, precision: float, k: int) -> RenderableType:
    if floor is None:
        return Text(f"no min_relevance reaches a precision of {precision:g}", style="yellow")
    return (
        f"proposed: min_relevance {floor.min_relevance:.3f}. Of the held-out queries, "
        f"{floor.silent:.0%} of those without an answer find nothing, and {floor.lost:.0%} of "
        f"the others; recall@{k} {floor.recall:.3f}"
    )


def _half_life(profile: Profile) -> float | None:
    return next(
        (signal.half_life_in_days for signal, _ in profile if isinstance(signal, Recency)), None
    )
