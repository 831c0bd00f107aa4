"""Check of the values of saved records (see `core/state_bounds.py`)."""

from __future__ import annotations

from iglu_marl.core.jit import jit


@jit
def within(octets, first, least, most):
    """Return whether all values from byte `first` of each record on, of the dtype of `least`, are in least..most.

    octets: uint8 [n, bytes of a record].
    """
    size = least.size * least.itemsize
    for i in range(octets.shape[0]):
        values = octets[i, first : first + size].view(least.dtype)
        good = True
        for k in range(least.size):
            good &= (least[k] <= values[k]) & (values[k] <= most[k])
        if not good:
            return False
    return True
