"""Recording of episodes as JSON lines, and replay that simulates them again and compares bit for bit.

A recording is only ever appended to, a whole line at a time, so that of an interrupted game nothing is lost but the
line that was being written. One file may hold several episodes. The lines of an episode:

| line | keys |
|---|---|
| header | `format`, `version`, `view` ("aec", "parallel", "live", "single"), `config`, `controls`, `seed`, `task` |
| | (grids as blocks x, y, z, id), `pose`, `recorded` (the dialogue is the task's own), `observes` (a lone builder's |
| | sights), `heard`, `agents`, `note`, `versions`, `layout`, `state` |
| move | `n`; `act`: actions by role; `rewards` by role, where not 0; `heard`: what a live architect said to a lone |
| | builder; `state` |
| controls | `controls`: the builder acts in another encoding from here on |
| end | `end`: moves, terminated, truncated, returns, intersection, target_blocks |

`state` is a checksum (BLAKE2b, 8 bytes, hexadecimal) of the world's record and of the dialogue, after the move.
Actions are JSON as they are; a NumPy array or number keeps its type: `{"~": "float32", "shape": [2], "v": [0.0, 5.0]}`.

`iglu_marl.recording.offline` makes offline datasets of recordings.
"""

from __future__ import annotations

from iglu_marl.recording.reading import RecordedMove as RecordedMove
from iglu_marl.recording.reading import Recording as Recording
from iglu_marl.recording.reading import Repaired as Repaired
from iglu_marl.recording.reading import read_recording as read_recording
from iglu_marl.recording.reading import repair as repair
from iglu_marl.recording.replaying import replay as replay
from iglu_marl.recording.values import FORMAT as FORMAT
from iglu_marl.recording.values import LAYOUT as LAYOUT
from iglu_marl.recording.values import VERSION as VERSION
from iglu_marl.recording.values import checksum as checksum
from iglu_marl.recording.values import from_json as from_json
from iglu_marl.recording.values import task_from_json as task_from_json
from iglu_marl.recording.values import task_to_json as task_to_json
from iglu_marl.recording.values import to_json as to_json
from iglu_marl.recording.writing import Recorder as Recorder
from iglu_marl.recording.writing import view_of as view_of
