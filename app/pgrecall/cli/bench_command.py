"""pgrecall bench"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Unpack

from pgrecall.cli.app import App
from pgrecall.cli.benched import BenchSearch, load, search, search_arguments, temporary_repository
from pgrecall.cli.database import DatabaseUrl
from pgrecall.cli.embedding import EmbedderName, make_embedder
from pgrecall.cli.output import (
    Output,
    console,
    counted,
    progress_bar,
    require_writable,
    warnings,
    working,
)
from pgrecall.cli.parsers import argument, option
from pgrecall.core.checks import K
from pgrecall.core.display import Part, plain
from pgrecall.core.embedders import model_name
from pgrecall.errors import InputError
from pgrecall.evaluation.datasets.conversation import Conversation
from pgrecall.evaluation.datasets.data_sets import DataSetName, read_data_set
from pgrecall.evaluation.run_file import read_run, write_judgements
from pgrecall.evaluation.run_file import write_run as write_run_file
from pgrecall.evaluation.run_grid import gain_grids, run_grids
from pgrecall.evaluation.run_measures import RunScores, gains_over, run_scores
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profiles import BUILT_IN, DEFAULT

app = App()
_FILES = "Files for trec_eval"


@app.function(
    "pgrecall bench locomo locomo10.json",
    "pgrecall bench beam chats/100K -p hybrid,mine.toml --json",
    "pgrecall bench realtalk data --write-run run.txt --write-qrels qrels.txt",
    "pgrecall bench realtalk data --run run.txt --run of-another-system.txt",
)
def bench(
    data_set: Annotated[DataSetName, argument("The data set.", metavar="DATA_SET")],
    file: Annotated[
        Path, argument("Its file as it is published, or the folder if there are several.")
    ],
    profiles: Annotated[
        list[Profile] | None,
        option(
            f"A profile: {', '.join(BUILT_IN)}, or a .toml or .json file. May be repeated, or "
            f"several be given with commas between them. Default: {DEFAULT.name}.",
            "--profile",
            "-p",
            metavar="PROFILE",
            show_default=False,
        ),
    ] = None,
    k: Annotated[int, option("How many turns each search returns.", "-k")] = 20,
    dates: Annotated[bool, option("Find the dates in questions.")] = True,
    embedder: EmbedderName = None,
    database_url: DatabaseUrl = None,
    dry_run: Annotated[
        bool, option("Only read the data set, and say what would be embedded.", "--dry-run")
    ] = False,
    write_run: Annotated[
        Path | None,
        option("Write what the profile found as a run.", rich_help_panel=_FILES),
    ] = None,
    write_qrels: Annotated[
        Path | None,
        option("Write which turns are the evidence of each question.", rich_help_panel=_FILES),
    ] = None,
    runs: Annotated[
        list[Path] | None,
        option(
            "Measure this run, and search nothing. May be repeated.",
            "--run",
            metavar="FILE",
            rich_help_panel=_FILES,
        ),
    ] = None,
    **arguments: Unpack[BenchSearch],
) -> Output:
    """Measure what searches find in a published data set: locomo, realtalk, beam or longmemeval.

    Nothing is downloaded. Each conversation is stored for an owner of its own, in a schema that is
    dropped in the end; without --database-url, in a database that is deleted. Each question is
    asked after its conversation.

    recall@k is the share of a question's evidence among the first k turns, and all@k the share of
    questions with all of it there. A session is found where the first of its turns is. Questions
    that the conversation does not answer are counted apart: those that find nothing above the
    profile's floor, or --min-relevance, which then applies to all.
    """
    K("k", k)
    searching = search_arguments(arguments, dates=dates and not (runs or dry_run))
    rerank = arguments.get("rerank")
    _require_one_way(profiles, runs, write_run, dry_run=dry_run)
    for path in filter(None, (write_run, write_qrels)):
        require_writable(path)
    with working("reading"):
        conversations = read_data_set(data_set, file)
    about = {"data_set": data_set, **_amount(conversations)}
    if write_qrels is not None:
        write_judgements(write_qrels, conversations)
    if dry_run:
        return Output([about], _amount_text(about))
    about["k"] = k
    if runs:
        measured = [run_scores(conversations, read_run(path, conversations), k) for path in runs]
        return _output(about, [(one, {}) for one in measured])
    model = make_embedder(embedder)
    warnings.print(plain(f"{_amount_text(about)} to embed by {model_name(model) or 'a model'}"))
    results = []
    with temporary_repository(database_url, model) as repo:
        with progress_bar("storing", transient=True) as advance:
            load(repo, conversations, advance)
        for profile in profiles or [DEFAULT]:
            with progress_bar(f"searching, {plain(profile.name)}", transient=True) as advance:
                found = search(repo, conversations, profile, k, searching, rerank, advance)
            if write_run is not None:
                write_run_file(write_run, profile.name, found.found)
            scores = run_scores(conversations, found.run(profile.name), k)
            results.append((scores, found.record()))
    return _output(about, results)


def _require_one_way(
    profiles: Sequence[Profile] | None,
    runs: Sequence[Path] | None,
    written: Path | None,
    *,
    dry_run: bool,
) -> None:
    """Raises InputError for options that exclude each other."""
    if written is not None and profiles is not None and len(profiles) > 1:
        raise InputError("--write-run takes one profile: a run file has one order for a question")
    given = {"--run": runs, "--dry-run": dry_run, "--profile": profiles, "--write-run": written}
    first, *others = [name for name, value in given.items() if value] or [""]
    if others and (runs or dry_run):
        raise InputError(f"{first} searches nothing: leave out {' and '.join(others)}")


def _amount(conversations: Sequence[Conversation]) -> dict[str, int]:
    """How much there is."""
    sessions = (len({turn.session for turn in one.turns}) for one in conversations)
    of_turns = [len(turn.text) for one in conversations for turn in one.turns]
    of_questions = [len(question.text) for one in conversations for question in one.questions]
    return {
        "conversations": len(conversations),
        "sessions": sum(sessions),
        "turns": len(of_turns),
        "questions": len(of_questions),
        "characters": sum(of_turns) + sum(of_questions),
    }


def _amount_text(about: Mapping[str, Any]) -> str:
    names = ("conversations", "sessions", "turns", "questions", "characters")
    return ", ".join(counted(about[name], name.removesuffix("s"), name) for name in names)


def _output(
    about: Mapping[str, Any], results: Sequence[tuple[RunScores, Mapping[str, Any]]]
) -> Output:
    """Each run, and what it finds more than the first."""
    parts: list[Part] = []
    records = []
    first = results[0][0]
    for scores, more in results:
        record = {**about, **scores.record(), **more}
        parts += [*run_grids(scores, console.width), *_remarks(scores, more)]
        if scores is not first:
            gains = gains_over(first, scores)
            record["gains"] = {kind: one.record() for kind, one in gains.items()}
            parts += gain_grids(first.tag, scores.tag, gains, console.width)
        records.append(record)
        parts.append("")
    return Output(records, *parts)


def _remarks(scores: RunScores, more: Mapping[str, Any]) -> Iterator[str]:
    floor = more.get("min_relevance")
    if scores.silent and floor is not None:
        yield (
            f"these were asked with a floor of relevance of {floor:g}, at which "
            f"{more['silenced']:,} of the others find nothing"
        )
    if scores.lost:
        yield f"{scores.lost:,} with evidence found nothing"
    if scores.without_evidence:
        yield f"{scores.without_evidence:,} without evidence in the data set, not counted"
    if not_reranked := more.get("not_reranked"):
        yield f"in {not_reranked:,} searches the reranker failed, and the order by score stands"
    if times := more.get("milliseconds"):
        median, slow = times["median"], times["p95"]
        yield f"a search takes {median:.1f} ms (median), 95 % take at most {slow:.1f} ms"
