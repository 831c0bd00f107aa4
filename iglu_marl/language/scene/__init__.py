"""Scenes: the things in a world, their relations, and programs about them.

| module | content |
|---|---|
| `graph` | `Scene` and `Thing`, with the definitions of shapes and relations |
| `program` | functional programs with a text and a JSON form |
| `interpreter` | answers of programs in one world, or in many |
| `kernels` | compiled code of shapes, relations and functions |
| `random_scenes` | random worlds |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iglu_marl.core.lazy import deprecated_names

if TYPE_CHECKING:  # former exports
    from iglu_marl.language.scene.graph import MIXED, Scene, Thing, cells_of, find, quarter_of, table_of

__getattr__ = deprecated_names(__name__)
