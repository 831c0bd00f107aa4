"""Scenes: the things in a world, their relations, and programs about them.

| module | content |
|---|---|
| `graph` | `Scene` and `Thing`, with the definitions of shapes and relations |
| `program` | functional programs with a text form |
| `interpreter` | answers of programs in one world, or in many |
| `kernels` | compiled code of shapes, relations and functions |
| `random_scenes` | random worlds |
"""
