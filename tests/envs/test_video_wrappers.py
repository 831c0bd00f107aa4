"""Films: the RecordVideo wrappers of Gymnasium and PettingZoo with our environments, and our own GIFs and MP4s."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import imageio_ffmpeg
import numpy as np
import numpy.typing as npt
import pettingzoo.utils.wrappers as wrappers
import pytest
from gymnasium.wrappers import RecordVideo
from PIL import Image
from probing import IDS
from requirements import TEST_FOLDERS

import iglu_marl
from iglu_marl import RenderError, Task
from iglu_marl.rendering import ReplayRecorder, write_png, write_video

pytestmark = pytest.mark.system

TASK = Task("<Architect> a red block", [(0, -1, -1, 6), (2, 0, 3, 3)], starting_grid=[(2, -1, 3, 2)])
SHAPE = (540, 960, 3)

Frame = npt.NDArray[np.uint8]


def film(folder: Path) -> tuple[Frame, float]:
    """The frames uint8[n, height, width, 3] of the only film in a folder, and how many there are a second."""
    (path,) = folder.glob("*.mp4")
    ask = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    done = subprocess.run(ask, capture_output=True, check=True, timeout=60)
    told = re.search(rb"([\d.]+) fps", done.stderr)
    assert told is not None
    return np.frombuffer(done.stdout, np.uint8).reshape(-1, *SHAPE), float(told[1])


def check(shown: Frame, truth: list[Frame]) -> None:
    """Compressed frames tell the same as the true ones; MoviePy, which wrappers write with, may drop the last."""
    assert len(truth) - 1 <= len(shown) <= len(truth)
    for seen, true in zip(shown, truth, strict=False):
        assert np.abs(seen.astype(int) - true).mean() < 8
    assert len({true.tobytes() for true in truth}) > 2


# --------------------------------------------------------------------------------------------------------- wrappers


@pytest.mark.parametrize("name", IDS)
def test_gymnasium_records(name: str, tmp_path: Path) -> None:
    env = RecordVideo(gym.make(name, tasks=TASK, render_mode="rgb_array"), str(tmp_path / "films"))
    env.reset(seed=1, options={"pose": (0, -0.25, 0, 0, -45)})
    truth = [env.unwrapped.render()]
    env.action_space.seed(1)
    for _ in range(7):
        env.step(env.action_space.sample())
        truth.append(env.unwrapped.render())
    env.close()
    shown, fps = film(tmp_path / "films")
    assert fps == env.unwrapped.metadata["render_fps"]
    check(shown, truth)


@pytest.mark.skipif(not hasattr(wrappers, "RecordVideo"), reason="PettingZoo 1.27 has it")
@pytest.mark.parametrize("make", [iglu_marl.env, iglu_marl.raw_env])
def test_pettingzoo_records_turns(make: Any, tmp_path: Path) -> None:
    env = wrappers.RecordVideo(
        make(tasks=TASK, render_mode="rgb_array", turn_steps=3), str(tmp_path / "films")
    )
    env.reset(seed=1)
    truth = [env.unwrapped.render()]
    for agent in env.agent_iter(8):
        action = f"go on {env.unwrapped.episode.worlds.turns[0]}" if agent == "architect_0" else 14
        env.step(action)
        truth.append(env.unwrapped.render())
    env.close()
    shown, fps = film(tmp_path / "films")
    assert fps == env.unwrapped.metadata["render_fps"]
    check(shown, truth)


# -------------------------------------------------------------------------------------------------------------- GIF


def decoded(path: Path) -> tuple[list[Frame], list[int]]:
    """Frames and their times in milliseconds, as a viewer shows them."""
    shown, times = [], []
    with Image.open(path) as image:
        for number in range(image.n_frames):
            image.seek(number)
            times.append(image.info["duration"])
            shown.append(np.asarray(image.convert("RGB")))
    return shown, times


def test_few_colours_are_exact_and_unchanged_pixels_stay(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    colors = rng.integers(0, 256, (255, 3), dtype=np.uint8)
    frame = colors[rng.integers(0, 255, (40, 50))]
    truth = [frame]
    for _ in range(10):
        frame = frame.copy()
        y, x = rng.integers(0, 30, 2)
        frame[y : y + 9, x : x + 9] = colors[rng.integers(0, 255, (9, 9))]
        truth.append(frame)
    shown, times = decoded(write_video(tmp_path / "a.gif", truth, fps=20))
    assert times == [50] * 11
    for seen, true in zip(shown, truth, strict=True):
        assert (seen == true).all()


@pytest.mark.parametrize("fps", [0.5, 3, 7, 24, 30, 50])
def test_gifs_keep_time_and_join_frames_that_are_alike(fps: float, tmp_path: Path) -> None:
    black, red = np.zeros((8, 9, 3), np.uint8), np.full((8, 9, 3), (255, 0, 0), np.uint8)
    order = [black, black, red, red, red, black, red, red]
    shown, times = decoded(write_video(tmp_path / "a.gif", iter(order), fps=fps))
    assert [int(seen[0, 0, 0]) for seen in shown] == [0, 255, 0, 255]
    counts = [2, 3, 1, 2]
    for time, count in zip(times, counts, strict=True):
        assert abs(time - 1000 * count / fps) <= 10
    assert abs(sum(times) - 8000 / fps) <= 10


# --------------------------------------------------------------------------------------------------------- full disks


def noise(count: int) -> list[Frame]:
    """What cannot be compressed."""
    return list(np.random.default_rng(0).integers(0, 256, (count, 120, 200, 3), dtype=np.uint8))


def write(path: Path, count: int) -> None:
    """A picture, a film or a page that is much longer than 64 KiB."""
    if path.suffix == ".png":
        write_png(path, noise(1)[0])
    elif path.suffix == ".html":
        page = ReplayRecorder("x" * 100_000)
        page.add(np.zeros((9, 11, 11), np.int8), (0, 0, 0, 0, 0))
        page.write(path)
    elif path.suffix == ".gif":
        write_video(path, [frame & 0xC0 for frame in noise(count)])  # 64 colours: the palette is soon found
    else:
        write_video(path, noise(count))


def check_untouched(path: Path, count: int) -> None:
    """A file that cannot be written whole is not written: what was there stays, and nothing is left beside it."""
    path.write_text("what was there")
    with pytest.raises(RenderError, match=re.escape(f"{path} cannot be written: ")):
        write(path, count)
    assert path.read_text() == "what was there"
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


LIMITED = """
import os, resource, sys
from pathlib import Path
sys.path[:0] = sys.argv[1].split(os.pathsep)
from test_video_wrappers import check_untouched
resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))  # of any file that this process or ffmpeg writes
check_untouched(Path(sys.argv[2]), int(sys.argv[3]))
"""


@pytest.mark.parametrize(("suffix", "count"), [("png", 1), ("html", 1), ("gif", 4), ("mp4", 4), ("mp4", 200)])
def test_nothing_is_cut_at_the_greatest_length_of_a_file(suffix: str, count: int, tmp_path: Path) -> None:
    """As on a full disk, where none can be mounted."""
    ask = [
        sys.executable,
        "-c",
        LIMITED,
        TEST_FOLDERS,
        str(tmp_path / f"a.{suffix}"),
        str(count),
    ]
    done = subprocess.run(ask, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
