"""Docstrings and signatures of the environments: the options of `GameConfig` that they have."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from iglu_marl.game.config import GameConfig
from iglu_marl.game.effects import Kind

Documented = TypeVar("Documented", bound=Callable[..., Any])
PAIR: tuple[Kind, ...] = ("aec", "parallel", "live", "vector")
BUILDER: tuple[Kind, ...] = ("single", "instructed")


def documented(
    *kinds: Kind, like: Iterable[Callable[..., Any]] = (), **defaults: Any
) -> Callable[[Documented], Documented]:
    """Name the options of a function or class in its signature, and explain them in its docstring.

    Args:
        kinds: kinds of environments. Options that one of them has are listed.
        like: functions or classes whose keyword arguments it takes, too.
        defaults: different defaults of options.

    """

    def document(thing: Documented) -> Documented:
        options = [
            item
            for item in dataclasses.fields(GameConfig)
            if not all(kind in item.metadata["without"] for kind in kinds)
        ]
        named = dict(inspect.signature(thing).parameters)
        for maker in like:
            for name, one in inspect.signature(maker).parameters.items():
                if name not in ("prototype", "architect"):
                    named.setdefault(name, one.replace(kind=inspect.Parameter.KEYWORD_ONLY))
        for item in options:
            default = defaults.get(item.name, item.default)
            one = inspect.Parameter(
                item.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=item.type
            )
            named.setdefault(item.name, one)
        taken = [one for one in named.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        thing.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
        rows = [(item.name, repr(named[item.name].default), item.metadata["doc"]) for item in options]
        width, wide = (max(len(row[column]) for row in rows) for column in (0, 1))
        lines = [f"    {name:{width}}  {default:{wide}}  {doc}" for name, default, doc in rows]
        text = inspect.cleandoc(thing.__doc__ or "").rstrip()
        head = "Options (keyword arguments, the fields of GameConfig):"
        thing.__doc__ = "\n".join([text, "", head, *lines]) + "\n"
        return thing

    return document
