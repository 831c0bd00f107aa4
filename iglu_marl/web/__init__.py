"""The game in the browser: a server on which people play with agents and with each other (`iglu-marl serve`).

The server is the referee: it runs one `LiveGame` per room, 20 steps a second; pages draw what their role is shown and
send what the hands do. Needs the extra `web`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iglu_marl.core.lazy import members

if TYPE_CHECKING:  # what type checkers, editors and the API reference see
    from iglu_marl.web.options import ServerOptions as ServerOptions
    from iglu_marl.web.rooms import Room as Room
    from iglu_marl.web.rooms import Rooms as Rooms
    from iglu_marl.web.rooms import check_agents as check_agents
    from iglu_marl.web.server import create_app as create_app
    from iglu_marl.web.sessions import Sessions as Sessions
    from iglu_marl.web.store import Store as Store
    from iglu_marl.web.study import Condition as Condition
    from iglu_marl.web.study import Study as Study
    from iglu_marl.web.study import SurveyQuestion as SurveyQuestion
    from iglu_marl.web.study import read_study as read_study
    from iglu_marl.web.warming import warm_up as warm_up

__getattr__, __dir__, __all__ = members(__name__)
