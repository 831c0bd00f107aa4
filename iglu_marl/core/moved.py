"""Other names of modules: importing one gives the module itself, never a second copy with classes of its own."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


class _Known(Loader):
    """Hands out a module that is there already."""

    def __init__(self, module: ModuleType) -> None:
        self._module, self._spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module itself."""
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """It has been run; the import machinery has only renamed it."""
        module.__spec__ = self._spec


class OtherNames(MetaPathFinder):
    """Leads module names, and all below them, to other modules.

    names: name -> the module's own name. deprecated: whether to warn, once each.
    """

    def __init__(self, names: dict[str, str], deprecated: bool) -> None:
        self.names, self.deprecated = names, deprecated

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What the import machinery asks every finder."""
        old = next((name for name in self.names if f"{fullname}.".startswith(f"{name}.")), None)
        if old is None:
            return None
        own = self.names[old] + fullname[len(old) :]
        if self.deprecated:
            warnings.warn(f"{fullname} has moved to {own}", DeprecationWarning, stacklevel=2)
        module = importlib.import_module(own)
        return ModuleSpec(fullname, _Known(module), is_package=hasattr(module, "__path__"))


def lead(names: dict[str, str], *, deprecated: bool = True) -> None:
    """Let modules be imported under other names, too; those of the same call that are known already are replaced."""
    known = [finder for finder in sys.meta_path if isinstance(finder, OtherNames)]
    for finder in known:
        if finder.names == names:
            return
    sys.meta_path.insert(sys.meta_path.index(PathFinder), OtherNames(names, deprecated))
