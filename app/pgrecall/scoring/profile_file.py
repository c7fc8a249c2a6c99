"""Profiles as TOML or JSON files."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar

from pgrecall.core.quoting import LONGEST, cut, did_you_mean, listed, path_of, shortened
from pgrecall.errors import InputError, InvalidProfile, UnknownName
from pgrecall.scoring.attribute import Attribute
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.signals import DECAY, KINDS, Decay, Recency, Signal

S = TypeVar("S", bound=Signal)

MOST_BYTES = 1_000_000
"""Larger files are refused."""


def save(profile: Profile, path: str | Path) -> None:
    """Writes a profile to a .toml or .json file.

    Raises InvalidProfile for another file extension, InputError if the file cannot be written.
    """
    path = path_of(path)
    if not isinstance(profile, Profile):
        raise InputError(f"profile must be a Profile, got {shortened(profile)}")
    values = as_values(profile)
    text = json.dumps(values, indent=2) + "\n" if _is_json(path) else _toml(values)
    try:
        path.write_text(text, encoding="utf-8")
    except (OSError, UnicodeEncodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{shortened(path, LONGEST)} cannot be written: {reason}") from error


def load(path: str | Path) -> Profile:
    """Reads a profile from a .toml or .json file.

    Raises InvalidProfile if the file cannot be read or is not a profile, and UnknownName for a
    signal or parameter that does not exist. The error names the file.
    """
    path = path_of(path)
    try:
        text = _read(path)
        values = json.loads(text) if _is_json(path) else tomllib.loads(text)
    except OSError as error:
        raise InvalidProfile(
            f"{shortened(path, LONGEST)} cannot be read: {error.strerror or error}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidProfile(f"{shortened(path, LONGEST)}: {cut(str(error))}") from error
    try:
        return from_values(values)
    except (InvalidProfile, UnknownName) as error:
        raise type(error)(f"{shortened(path, LONGEST)}: {error}") from error


def as_values(profile: Profile) -> dict[str, Any]:
    """The profile as plain JSON values, without settings and parameters at their defaults."""
    return {
        "name": profile.name,
        **({"redistribute": True} if profile.redistribute else {}),
        **({} if profile.accessed_by == "retrieval" else {"accessed_by": profile.accessed_by}),
        **({} if profile.min_relevance is None else {"min_relevance": profile.min_relevance}),
        **({} if profile.decay is None else {DECAY: _as_table(profile.decay)}),
        "signals": {
            signal.name: {"weight": weight, **_parameters(signal)} for signal, weight in profile
        },
    }


def from_values(values: object) -> Profile:
    """The inverse of `as_values`. Raises InvalidProfile or UnknownName."""
    if not isinstance(values, Mapping) or not isinstance(values.get("signals"), Mapping):
        raise InvalidProfile("a profile needs a name and a table of signals")
    known = [field.name for field in fields(Profile) if field.init]
    unknown = [name for name in values if name not in known]
    if unknown:
        raise UnknownName(
            f"unknown key {listed(unknown)}{did_you_mean(unknown, known)}; a profile has "
            f"{', '.join(known)}"
        )
    name = values.get("name")
    if not isinstance(name, str):
        raise InvalidProfile(f"the name of a profile must be text, got {shortened(name)}")
    signals = dict(_weighted(*item) for item in values["signals"].items())
    decay = None if values.get(DECAY) is None else _decay(values[DECAY])
    return Profile(**{**values, "signals": signals, DECAY: decay})


def _weighted(name: str, parameters: object) -> tuple[Signal, float]:
    is_own = isinstance(parameters, Mapping) and "metadata" in parameters
    kind = KINDS.get(name, Attribute if is_own else None)
    if kind is None:
        raise UnknownName(
            f"unknown signal {shortened(name)}{did_you_mean([name], KINDS)}; the signals are "
            f"{', '.join(KINDS)}, and those of your own, which have metadata"
        )
    if not isinstance(parameters, Mapping) or "weight" not in parameters:
        raise InvalidProfile(f"signal {name} must be a table with a weight")
    named = {"name": name} if kind is Attribute else {}
    signal = _made(f"signal {name}", kind, parameters, "weight", **named)
    return signal, parameters["weight"]


def _decay(parameters: object) -> Decay:
    if not isinstance(parameters, Mapping):
        raise InvalidProfile(f"decay must be a table, got {shortened(parameters)}")
    return Decay(_made(DECAY, Recency, parameters, "floor"), parameters.get("floor", 0.0))


def _as_table(decay: Decay) -> dict[str, Any]:
    return {**_parameters(decay.recency), **({"floor": decay.floor} if decay.floor else {})}


def _made(what: str, kind: type[S], parameters: Mapping[str, Any], beside: str, **named: str) -> S:
    """The signal with these parameters; the one named `beside` is not the signal's."""
    settings = {key: value for key, value in parameters.items() if key != beside}
    known = [beside, *(field.name for field in fields(kind) if field.name not in named)]
    unknown = [parameter for parameter in settings if parameter not in known]
    if unknown:
        raise UnknownName(
            f"{what} has no parameter {listed(unknown)}{did_you_mean(unknown, known)}; its "
            f"parameters are {', '.join(known)}"
        )
    try:
        return kind(**settings, **named)
    except InvalidProfile:
        raise
    except (TypeError, ValueError, IndexError) as error:
        raise InvalidProfile(f"{what}: {cut(str(error))}") from error


def _parameters(signal: Signal) -> dict[str, Any]:
    """The parameters that differ from their defaults; so no None, which TOML cannot express."""
    parameters: dict[str, Any] = {}
    for field in fields(signal):
        value = getattr(signal, field.name)
        if (
            field.name == "name"
            or value is None
            or (field.default is not MISSING and value == field.default)
        ):
            continue
        parameters[field.name] = dict(value) if isinstance(value, tuple) else value
    return parameters


def _read(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"a profile file may have at most {MOST_BYTES:,} bytes")
    return content.decode("utf-8-sig")


def _toml(values: Mapping[str, Any]) -> str:
    """Writes what `as_values` returns as TOML; the standard library can only read TOML."""
    tables = {f"signals.{name}": parameters for name, parameters in values["signals"].items()}
    if DECAY in values:
        tables = {DECAY: values[DECAY], **tables}
    lines = _pairs({key: value for key, value in values.items() if key not in ("signals", DECAY)})
    for name, parameters in tables.items():
        lines += ["", f"[{name}]", *_pairs(parameters)]
    return "\n".join(lines) + "\n"


def _pairs(values: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {_toml_value(value)}" for key, value in values.items()]


def _toml_value(value: object) -> str:
    if isinstance(value, dict):
        pairs = (f"{_toml_value(key)} = {_toml_value(inner)}" for key, inner in value.items())
        return f"{{ {', '.join(pairs)} }}"
    # Text, numbers and booleans are the same in JSON, except that TOML escapes DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", r"\u007f")


def _is_json(path: Path) -> bool:
    suffix = path.suffix.lower()
    if suffix not in (".toml", ".json"):
        raise InvalidProfile(
            f"{shortened(path, LONGEST)}: the name of a profile file must end in .toml or .json"
        )
    return suffix == ".json"
