"""Recording of episodes as JSON lines, and replay with a bit-for-bit comparison.

A recording is only appended to, one whole line at a time. An interrupted game loses at most the line being written.
One file may have several episodes. The lines of an episode:

| line | keys |
|---|---|
| header | `format`, `version`, `view` ("aec", "parallel", "live", "single"), `config`, `controls`, `seed`, `task` |
| | (grids as blocks x, y, z, id), `pose`, `recorded` (whether the dialogue is the task's), `observes` (observation |
| | options of a single-agent game), `heard`, `agents`, `note`, `versions`, `layout`, `state` |
| move | `n`; `act`: actions by role; `rewards` by role, without zeros; `heard`: the live architect's utterances in a |
| | single-agent game; `state` |
| edit | `edit`: cells x, y, z, id that were changed from outside (0 for air), in the ids of the environment; |
| | `builder`: whose stock paid |
| controls | `controls`: the builder's encoding from here on |
| end | `end`: moves, terminated, truncated, returns, intersection, target_blocks; `edits`: number of edit lines, |
| | if there are any |

The last key of each line is `chain`: a hash (BLAKE2b, 16 bytes, hexadecimal) of the `chain` of the line before ("" for
a header) followed by the line without `,"chain":"…"}` and line feed. A changed byte is an error, as is a missing line,
except at the end of an episode: such a game is unfinished. The last hash of an episode identifies the whole of it.
Recordings of versions before 0.3 are refused: 0.3.0 reads them.

`state` is a checksum (BLAKE2b, 8 bytes, hexadecimal) of the world's record and the dialogue after the move. Actions
are JSON values; a NumPy array or number keeps its type: `{"~": "float32", "shape": [2], "v": [0.0, 5.0]}`.

`iglu_marl.recording.offline` makes offline datasets of recordings.
"""

from iglu_marl.recording.reading import Recording as Recording
from iglu_marl.recording.reading import read_recording as read_recording
from iglu_marl.recording.reading import repair as repair
from iglu_marl.recording.replaying import replay as replay
from iglu_marl.recording.writing import Recorder as Recorder
