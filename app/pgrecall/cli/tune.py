"""pgrecall tune"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from pgrecall.cli.app import App
from pgrecall.cli.database import Agents, AsJson, DatabaseUrl, Schema, repository
from pgrecall.cli.evaluate import print_evaluation, warn_of_missing
from pgrecall.cli.floor_table import Precision
from pgrecall.cli.judged import QueriesFile, Recorded, Seed, queries_of, require_source
from pgrecall.cli.options import AsOf, Dates, Teams
from pgrecall.cli.output import complaints, console, plain, print_json, require_writable
from pgrecall.cli.profile_commands import named_or_loaded
from pgrecall.cli.times import moment
from pgrecall.errors import InputError
from pgrecall.evaluation.floors import Floor
from pgrecall.evaluation.tuned import FEWEST, Tuning
from pgrecall.schema import DEFAULT_SCHEMA
from pgrecall.scoring import profiles
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profiles import DEFAULT
from pgrecall.scoring.signals import Recency

app = App(panel="Choose by evidence")


VERDICTS = {
    "better": "[green]better on the queries that were kept back[/]",
    "thin": "[yellow]better on the queries that were kept back, but the evidence is too thin to be "
    "sure: label more queries[/]",
    "no better": "[red]no better on the queries that were kept back; nothing is proposed[/]",
}
"""The verdict that a baseline is better names it, and stands for itself."""


@app.command()
def tune(
    agents: Agents = None,
    file: QueriesFile = None,
    recorded: Recorded = False,
    start: Annotated[
        str, typer.Option(help="The profile to start from: a name or a .toml or .json file.")
    ] = DEFAULT.name,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the profile: .toml or .json.")
    ] = Path("tuned.toml"),
    force: Annotated[bool, typer.Option(help="Write over a file that is there.")] = False,
    k: Annotated[int, typer.Option("-k", help="Of recall@k and nDCG@k.")] = 10,
    held_out: Annotated[
        float,
        typer.Option(help="The share of the queries, or of the agents, kept back to judge by."),
    ] = 0.5,
    team: Teams = None,
    as_of: AsOf = None,
    dates: Dates = None,
    precision: Precision = None,
    seed: Seed = 0,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Search weights and a half-life that find more, and write them as a profile.

    Chosen by one part of the judged queries and judged by the other; nothing is written unless it
    does better there, and no worse than similarity alone, keyword alone and hybrid. Where queries
    have a text, a profile without keyword may be given it. Of several agents each is in one part.
    With --precision a floor of relevance is proposed too, by the queries that name no memory.
    The same seed gives the same profile.
    """
    require_source(file, recorded=recorded)
    if output.suffix.lower() not in (".toml", ".json"):
        raise InputError(f"{output}: the name of a profile file must end in .toml or .json")
    if output.exists() and not force:
        raise InputError(f"{output} is there already; name another file or pass --force")
    require_writable(output)
    chosen = named_or_loaded(start)
    chosen.renamed(output.stem)  # a name that no profile can have is told before the work
    at = moment("--as-of", as_of)
    with (
        repository(database_url, schema) as repo,
        Progress(console=complaints) as progress,
    ):
        task = progress.add_task("searching", total=None)
        found = repo.evaluation.tune(
            None,
            queries_of(repo, agents, file),
            agents=agents,
            start=chosen,
            k=k,
            held_out=held_out,
            teams=team or (),
            as_of=at,
            dates=dates,
            precision=precision,
            seed=seed,
            on_progress=lambda done, of: progress.update(task, completed=done, total=of),
        )
    problem = None if found.proposed is None else _problem_saving(found.proposed, output)
    is_written = found.proposed is not None and problem is None
    if json:
        print_json(found.record() | {"written": str(output) if is_written else None})
    else:
        _print(found)
        warn_of_missing(found.training.missing + found.held_out.missing, agents)
        if is_written:
            console.print(f"written to {output}", markup=False, highlight=False)
    if problem is not None:
        raise problem


def _problem_saving(profile: Profile, output: Path) -> InputError | None:
    """Writes a profile, called as its file is; what is wrong waits until the results are told."""
    try:
        profiles.save(profile.renamed(output.stem), output)
    except InputError as problem:
        return problem
    return None


def _print(found: Tuning) -> None:
    table = Table(show_edge=False, title="chosen", title_justify="left")
    table.add_column("signal")
    table.add_column(Text(plain(found.start.name)), justify="right")
    table.add_column("found", justify="right")
    old, new = found.start.weights, found.found.weights
    for name, weight in new.items():  # in the order of the start; what was brought in comes last
        table.add_row(name, f"{old[name]:.3f}" if name in old else "–", f"{weight:.3f}")
    old_half_life, half_life = _half_life(found.start), _half_life(found.found)
    if half_life is not None and old_half_life is not None:
        table.add_row("half-life, days", f"{old_half_life:.1f}", f"{half_life:.1f}")
    console.print(table)
    console.print("\nthe queries it was chosen by", style="bold")
    print_evaluation(found.training)
    console.print("\nthe queries kept back", style="bold")
    print_evaluation(found.held_out)
    if found.questions < FEWEST:
        console.print(f"[yellow]only {found.questions} queries were kept back[/]")
    if found.precision is not None:
        _print_floor(found.floor, found.precision, found.held_out.k)
    verdict = f"[red]{found.verdict}; nothing is proposed[/]"
    console.print(VERDICTS.get(found.verdict, verdict))


def _print_floor(floor: Floor | None, precision: float, k: int) -> None:
    if floor is None:
        console.print(f"[yellow]no floor keeps to a precision of {precision:g}[/]")
        return
    console.print(
        f"proposed floor: min_relevance {floor.min_relevance:.3f}. Of the queries kept back "
        f"{floor.silent:.0%} of those without an answer return nothing, and {floor.lost:.0%} of "
        f"the others; recall@{k} {floor.recall:.3f}",
        highlight=False,
    )


def _half_life(profile: Profile) -> float | None:
    return next(
        (signal.half_life_in_days for signal, _ in profile if isinstance(signal, Recency)), None
    )
