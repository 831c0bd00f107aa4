"""The data of a page that replays a game."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def page_data(page: str | Path) -> Any:
    """The JSON in a page of `iglu_marl.rendering.html`."""
    text = Path(page).read_text(encoding="utf-8")
    return json.loads(text.partition('id="data">')[2].partition("</script>")[0])
