"""Pictures: the painter (CPU, default), views and sheets, windows, image and video files, replay pages.

Members load at first use, so importing this package needs neither pygame nor Pillow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iglu_marl.core.lazy import lazy_exports

if TYPE_CHECKING:  # what type checkers, editors and the API reference see
    from iglu_marl.rendering.html import ReplayRecorder as ReplayRecorder
    from iglu_marl.rendering.opengl.renderer import OpenGLRenderer as OpenGLRenderer
    from iglu_marl.rendering.orbit import orbit_view as orbit_view
    from iglu_marl.rendering.painter import Painter as Painter
    from iglu_marl.rendering.sheets import contact_sheet as contact_sheet
    from iglu_marl.rendering.top_down import layers_view as layers_view
    from iglu_marl.rendering.top_down import top_view as top_view
    from iglu_marl.rendering.ui.composed import composed_frame as composed_frame
    from iglu_marl.rendering.ui.window import Window as Window
    from iglu_marl.rendering.ui.window import WindowClosed as WindowClosed
    from iglu_marl.rendering.video import write_png as write_png
    from iglu_marl.rendering.video import write_video as write_video

__getattr__, __dir__, __all__ = lazy_exports(__name__)
