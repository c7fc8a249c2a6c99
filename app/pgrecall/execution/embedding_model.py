"""Keeps the embeddings of two models out of one schema: their vectors cannot be compared."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

from pgrecall.core.embedders import Embedded
from pgrecall.core.quoting import shortened
from pgrecall.core.steps import Ask, Run
from pgrecall.core.vectors import components_of
from pgrecall.errors import EmbedderMismatch
from pgrecall.schema import Layout, tables
from pgrecall.schema.verbs import call


def unrecorded_model(schema: str, answers: Mapping[Ask, Any], layout: Layout) -> str | None:
    """The model to record for the schema: of the first call that embeds texts of memories.

    Raises EmbedderMismatch if another model is recorded. An embedder without a name is not checked.
    """
    for step, embedded in answers.items():
        if not isinstance(embedded, Embedded):
            continue
        model = embedded.model
        if model is None or model == layout.model:
            continue
        if layout.model is not None:
            raise mismatch(schema, layout.model, model)
        fits = all(len(components_of(one)) == layout.dimensions for one in embedded.vectors)
        if fits and step.function == "embed":  # other vectors are refused later
            return model
    return None


def record_model(
    schema: str, layout: Layout, model: str, *, ours: bool
) -> Generator[Run, Any, Layout | None]:
    """Records the model, unless another call was faster, whose model may be another.

    Returns the layout to cache when the call has succeeded. In a caller's transaction that is none,
    since it may be rolled back: each call that embeds records it, until a new process finds it.
    """
    [(recorded,)] = yield call(tables(schema), "claim_embedding_model", model=model)
    if recorded not in (None, model):
        raise mismatch(schema, recorded, model)
    return replace(layout, model=recorded) if recorded is not None and ours else None


def mismatch(schema: str, recorded: str, model: str) -> EmbedderMismatch:
    return EmbedderMismatch(
        f"schema {schema!r} holds embeddings of {shortened(recorded)}, and this embedder is "
        f"{shortened(model)}: their vectors cannot be compared. Use an embedder of the first, or "
        "another schema. To change the model, run `pgrecall migrate embedding-model NAME` and "
        "embed the memories again"
    )
