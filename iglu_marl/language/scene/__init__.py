"""What stands in a world: its things, their relations, and programs about them.

| module | what it holds |
|---|---|
| `graph` | `Scene` and `Thing`, with the definitions of shapes and relations |
| `program` | functional programs, as values with a text and a JSON form |
| `interpreter` | what a program gives in one world, or in many |
| `kernels` | the compiled half: all that shapes, relations and functions mean |
| `reference_evaluator` | the same meanings once more, as plainly as possible, to compare with |
| `random_scenes` | random worlds to talk about |
"""

from __future__ import annotations

from iglu_marl.language.scene.graph import MIXED, Scene, Thing, cells_of, find, plain, quarter_of, table_of

__all__ = ["MIXED", "Scene", "Thing", "cells_of", "find", "plain", "quarter_of", "table_of"]
