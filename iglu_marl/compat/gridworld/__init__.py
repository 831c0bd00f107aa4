"""`gridworld` (IGLU 2022): `GridWorld`. Modules of the tool that only draw or download say what to use."""

from __future__ import annotations

from iglu_marl.compat.absent import add_modules
from iglu_marl.compat.gridworld import data, tasks
from iglu_marl.compat.gridworld.core import world
from iglu_marl.compat.gridworld.env import GridWorld

__all__ = ["GridWorld"]

_PAINTER = "iglu_marl.rendering.Painter, or iglu_marl.compat.gridworld.visualizer.Visualizer"
_FETCH = "the command `iglu-marl data fetch`"
add_modules(
    __name__,
    {
        "tasks.task_set": tasks,
        "task": tasks,  # these three are the places of an early release
        "world": world,
        "control": world,
        "data.iglu_dataset": data,
        "data.cdm_dataset": data,
        "render": {"Renderer": _PAINTER, "setup": "nothing: pictures are painted without OpenGL"},
        "view": {"Viewer": "the command `iglu-marl play`"},
        "viewer": {"Viewer": "the command `iglu-marl play`"},
        "utils": dict.fromkeys(("cube_normals", "cube_vertices", "tex_coord", "tex_coords"), _PAINTER),
        "wrappers": {
            "Actions": "GridWorld(discretize=True), whose 18 actions are numbered",
            "Logged": "iglu_marl.compat.gym.wrappers.RecordVideo",
            **dict.fromkeys(("Wrapper", "debug"), "iglu_marl.compat.gym.Wrapper"),
        },
        "data.load": dict.fromkeys(("download", "download_azure", "BlobFileDownloader"), _FETCH),
    },
)
