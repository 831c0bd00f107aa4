"""The game in the browser: a server on which people play with agents and with each other (`iglu-marl serve`).

The server runs one `LiveGame` per room, 20 steps a second. Pages draw the observation of their role, and send keys and
text. Needs the extra `web`. `HumanArchitect` and `HumanBuilder` bring people into a loop of your own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iglu_marl.core.lazy import lazy_exports

if TYPE_CHECKING:  # what type checkers, editors and the API reference see
    from iglu_marl.web.human import HumanArchitect as HumanArchitect
    from iglu_marl.web.human import HumanBuilder as HumanBuilder
    from iglu_marl.web.human import PersonLeft as PersonLeft
    from iglu_marl.web.options import ServerOptions as ServerOptions
    from iglu_marl.web.server import create_app as create_app

__getattr__, __dir__, __all__ = lazy_exports(__name__)
