"""Metrics of emergent languages: the relation of messages to meanings and to the listener's actions.

| function | what it measures | range |
|---|---|---|
| `topographic_similarity` | whether similar meanings have similar messages | -1..1 |
| `positional_disentanglement` | whether each position encodes one attribute | 0..1 |
| `bag_of_symbols_disentanglement` | whether each symbol, in any position, encodes one attribute | 0..1 |
| `mutual_information` | information of one variable about another | bits |
| `speaker_consistency` | information of a message about the speaker's own action | bits |
| `causal_influence` | effect of the message on the listener's next action | bits |

A row is one message: meanings are int [n, attributes], messages n sequences of integers without padding (lists, or int
[n, length]; an empty one is silence), actions int [n]. Every metric is an `Interval`: the value of the rows, and a
percentile bootstrap over them. All functions take the keywords of `BootstrapOptions`.

The intervals assume a sample. If the rows are a whole language (each meaning once, with its message), read the value
only and give `corrected=False`: resampling loses a third of the rows, and the bias correction does not apply.

Sources: Brighton and Kirby, Understanding Linguistic Evolution by Visualizing the Emergence of Topographic Mappings
(Artificial Life 2006); Chaabouni et al., Compositionality and Generalization in Emergent Languages (ACL 2020); Lowe et
al., On the Pitfalls of Measuring Emergent Communication (AAMAS 2019); Jaques et al., Social Influence as Intrinsic
Motivation for Multi-Agent Deep Reinforcement Learning (ICML 2019); Miller, Note on the Bias of Information Estimates
(1955).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from typing_extensions import TypedDict, Unpack

from iglu_marl.core.errors import ConfigError
from iglu_marl.evaluation.metrics import Interval, bootstrap_statistic

Rows: TypeAlias = Sequence[Any] | npt.NDArray[np.integer]
"""One entry per row: integers [n] or [n, width], or n sequences of integers of any lengths."""

_Ints: TypeAlias = npt.NDArray[np.int64]
_Floats: TypeAlias = npt.NDArray[np.float64]


class BootstrapOptions(TypedDict, total=False):
    """Options of the interval, as of `bootstrap_statistic`.

    units: [n], rows of a unit are drawn together (default: each row by itself); confidence: 0.95; resamples: 1000;
    rng: a generator or a seed, 0.
    """

    units: npt.ArrayLike
    confidence: float
    resamples: int
    rng: np.random.Generator | int


# ---------------------------------------------------------------------------------------------- compositionality


def topographic_similarity(meanings: Rows, messages: Rows, **options: Unpack[BootstrapOptions]) -> Interval:
    """Return Spearman's correlation between distances of meanings and of their messages (Brighton and Kirby 2006).

    All pairs of rows with different meanings are compared: meanings by the number of attributes that differ (Hamming),
    messages by insertions, deletions and substitutions (Levenshtein). The correlation uses ranks, as usual today. Time
    and memory are quadratic in the number of different rows.

    Args:
        meanings: int [n, attributes].
        messages: n sequences of symbols.

    Returns:
        The correlation; 0 if all messages have the same distance, nan if all meanings have.

    Raises:
        ConfigError: if rows have another form or number.

    """
    meant, said = _attributes(meanings), _rows("messages", messages)
    _check_numbers(meanings=meant, messages=said)
    kinds = _categories(zip(map(tuple, meant.tolist()), said, strict=True))
    first = np.unique(kinds, return_index=True)[1]
    near, far = np.triu_indices(len(first), 1)
    meaning_distances = (meant[first][near] != meant[first][far]).sum(axis=1)
    message_distances = _edit_distances([said[row] for row in first])[near, far]
    other = meaning_distances > 0
    near, far = near[other], far[other]
    shape = (meaning_distances.max(initial=0) + 1, message_distances.max(initial=0) + 1)
    cells = meaning_distances[other] * shape[1] + message_distances[other]

    def statistic(weights: _Floats) -> float:
        drawn = np.bincount(kinds, weights)
        pairs = np.bincount(cells, drawn[near] * drawn[far], minlength=shape[0] * shape[1])
        return _rank_correlation(pairs.reshape(shape))

    return bootstrap_statistic(statistic, len(said), **options)


def positional_disentanglement(
    meanings: Rows, messages: Rows, *, corrected: bool = False, **options: Unpack[BootstrapOptions]
) -> Interval:
    """Return posdis of Chaabouni et al. (2020): whether each position of the messages encodes one attribute.

    For each position: the mutual information of its symbol with the best attribute minus that with the second best,
    over the entropy of the symbol. The result is the mean over positions whose symbol varies, or 0 if none does.
    Random codes score above 0, since one attribute always fits best.

    Args:
        meanings: int [n, attributes], 2 attributes or more.
        messages: n sequences of symbols; the end of a message counts as a symbol of its own.
        corrected: as in `mutual_information`. The source has no correction: that is exact for a whole language; for a
            sample of a compositional code the result is slightly below 1.

    Raises:
        ConfigError: if rows have another form or number.

    """
    said = _rows("messages", messages)
    columns = [
        _categories(row[place] if place < len(row) else None for row in said)
        for place in range(max(map(len, said)))
    ]
    return _disentanglement(meanings, said, columns, corrected, options)


def bag_of_symbols_disentanglement(
    meanings: Rows, messages: Rows, *, corrected: bool = False, **options: Unpack[BootstrapOptions]
) -> Interval:
    """Return bosdis of Chaabouni et al. (2020): whether each symbol, in any position, encodes one attribute.

    As `positional_disentanglement`, with the count of each symbol in a message instead of the symbol in each position.
    """
    said = _rows("messages", messages)
    columns = [_categories(row.count(symbol) for row in said) for symbol in sorted(set().union(*said))]
    return _disentanglement(meanings, said, columns, corrected, options)


def _disentanglement(
    meanings: Rows,
    said: list[tuple[int, ...]],
    columns: list[_Ints],
    corrected: bool,
    options: BootstrapOptions,
) -> Interval:
    meant = _attributes(meanings)
    _check_numbers(meanings=meant, messages=said)
    if meant.shape[1] < 2:
        raise ConfigError(f"meanings have {meant.shape[1]} attributes, expected 2 or more")
    attributes = [_categories(column) for column in meant.T.tolist()]
    joint = [[_paired(column, attribute) for attribute in attributes] for column in columns]

    def measure(weights: _Floats, corrected: bool) -> float:
        def entropy(values: _Ints) -> float:
            return _entropy(values, weights, corrected)

        unknown = [entropy(attribute) for attribute in attributes]
        gaps = []
        for column, pairs in zip(columns, joint, strict=True):
            if own := entropy(column):
                shared = sorted(each - entropy(pair) for each, pair in zip(unknown, pairs, strict=True))
                gaps.append((shared[-1] - shared[-2]) / own)
        return float(np.mean(gaps)) if gaps else 0.0

    return _interval(measure, len(said), corrected, options)


# --------------------------------------------------------------------------------------------------- information


def mutual_information(
    first: Rows, second: Rows, *, corrected: bool = True, **options: Unpack[BootstrapOptions]
) -> Interval:
    """Return the mutual information of two variables, in bits.

    Args:
        first: meanings, single attributes, messages, symbols or actions; equal rows are the same value.
        second: the same for the other variable.
        corrected: whether to apply the correction of Miller and Madow to the three entropies. Without it, independent
            variables seem related; with it, the result may be below 0 and needs several rows per pair of values.

    Raises:
        ConfigError: if rows have another form or number.

    """
    one, two = _rows("first", first), _rows("second", second)
    _check_numbers(first=one, second=two)
    x, y = _categories(one), _categories(two)
    both = _paired(x, y)

    def measure(weights: _Floats, corrected: bool) -> float:
        one, two, pairs = (_entropy(values, weights, corrected) for values in (x, y, both))
        return one + two - pairs

    return _interval(measure, len(x), corrected, options)


def speaker_consistency(
    messages: Rows, actions: Rows, *, corrected: bool = True, **options: Unpack[BootstrapOptions]
) -> Interval:
    """Return the mutual information of messages and the speaker's own actions, in bits (Lowe et al. 2019).

    Jaques et al. (2019) divide by the largest possible entropy. An architect has no actions other than messages: give
    its meanings instead.

    Args:
        messages: n sequences of symbols.
        actions: int [n], the speaker's actions.
        corrected: as in `mutual_information`.
        options: see `BootstrapOptions`.

    """
    return mutual_information(messages, actions, corrected=corrected, **options)


def causal_influence(
    probabilities: npt.ArrayLike,
    message_probabilities: npt.ArrayLike | None = None,
    **options: Unpack[BootstrapOptions],
) -> Interval:
    """Return the effect of the message on the listener's next action, in bits (CIC of Lowe et al. 2019).

    In each state, the listener's policy is evaluated for each of k messages. The result is the mutual information of
    message and action in a state, averaged over states (Jaques et al. 2019: the mean divergence from the marginal
    policy). It is 0 for a listener that ignores messages, and at most the entropy of the messages.

    Args:
        probabilities: float [n, k, actions], the listener's policy in each state after each message (one-hot if it is
            deterministic).
        message_probabilities: float [k] or [n, k]; None: uniform.

    Raises:
        ConfigError: if an array has another shape or its last axis is not a distribution.

    """
    policies = _distributions("probabilities", probabilities)
    if policies.ndim != 3:
        raise ConfigError(f"probabilities have the shape {policies.shape}, expected [n, messages, actions]")
    count, kinds = policies.shape[:2]
    given = np.full(kinds, 1 / kinds) if message_probabilities is None else message_probabilities
    shares = _distributions("message_probabilities", given)
    if shares.shape not in ((kinds,), (count, kinds)):
        raise ConfigError(
            f"message_probabilities have the shape {shares.shape}, expected ({kinds},) or ({count}, {kinds})"
        )
    shares = np.broadcast_to(shares, (count, kinds))
    average = (shares[:, :, None] * policies).sum(axis=1)
    influence = _uncertainty(average) - (shares * _uncertainty(policies)).sum(axis=1)
    return bootstrap_statistic(
        lambda weights: float(np.average(influence, weights=weights)), count, **options
    )


# -------------------------------------------------------------------------------------------------------- pieces


def _interval(
    measure: Callable[[_Floats, bool], float], count: int, corrected: bool, options: BootstrapOptions
) -> Interval:
    """Return the interval of a measure that is made of entropies, with or without their correction."""
    once = np.ones(count)
    return bootstrap_statistic(
        lambda weights: measure(weights, corrected),
        count,
        correction=measure(once, corrected) - measure(once, False),
        **options,
    )


def _entropy(values: _Ints, weights: _Floats, corrected: bool) -> float:
    """Return the entropy in bits of category numbers with these weights; 0 for fewer than two categories."""
    counts = np.bincount(values, weights)
    counts = counts[counts > 0]
    if len(counts) < 2:
        return 0.0
    total = counts.sum()
    plain = float(np.log2(total) - counts @ np.log2(counts) / total)
    return plain + corrected * (len(counts) - 1) / (2 * float(total) * np.log(2))


def _uncertainty(probabilities: _Floats) -> _Floats:
    """Return the entropy in bits of the distributions along the last axis."""
    logs = np.log2(probabilities, out=np.zeros_like(probabilities), where=probabilities > 0)
    return -(probabilities * logs).sum(axis=-1)


def _rank_correlation(table: _Floats) -> float:
    """Return Spearman's correlation of two numbers, from the table [x, y] of their joint counts."""
    across, down = table.sum(axis=1), table.sum(axis=0)
    if np.count_nonzero(across) < 2:
        return np.nan
    if np.count_nonzero(down) < 2:
        return 0.0
    # Mean ranks of ties, less the mean of all ranks.
    x, y = (np.cumsum(counts) - counts / 2 - counts.sum() / 2 for counts in (across, down))
    return float(x @ table @ y / np.sqrt((across @ x**2) * (down @ y**2)))


def _edit_distances(messages: list[tuple[int, ...]]) -> _Ints:
    """Return the Levenshtein distances of all messages, int [n, n] (Wagner and Fischer 1974)."""
    lengths = np.array([len(message) for message in messages])
    padded = np.zeros((len(messages), lengths.max()), dtype=np.int64)
    padded[np.arange(lengths.max()) < lengths[:, None]] = [symbol for each in messages for symbol in each]
    found = np.empty((len(messages), len(messages)), dtype=np.int64)
    for row, message in enumerate(messages):
        table = np.tile(np.arange(lengths.max() + 1), (len(messages), 1))
        for place, symbol in enumerate(message, start=1):
            above, table = table, np.full_like(table, place)
            for k in range(lengths.max()):
                replaced = above[:, k] + (padded[:, k] != symbol)
                table[:, k + 1] = np.minimum(replaced, np.minimum(above[:, k + 1], table[:, k]) + 1)
        found[row] = table[np.arange(len(messages)), lengths]
    return found


def _categories(values: Iterable[Hashable]) -> _Ints:
    """Return each value as a number, in the order of first occurrence, int [n]."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)


def _paired(x: _Ints, y: _Ints) -> _Ints:
    """Return category numbers of the pairs of two variables."""
    return _categories(zip(x.tolist(), y.tolist(), strict=True))


def _rows(name: str, values: Rows) -> list[tuple[int, ...]]:
    """Return one tuple of integers per row; a single integer is a row of one."""
    if not isinstance(values, Sequence | np.ndarray) or getattr(values, "ndim", 1) == 0 or not len(values):
        raise ConfigError(f"{name} is {values!r}, expected one row or more of integers")
    found = []
    for place, entry in enumerate(values):
        try:
            row = np.atleast_1d(np.asarray(entry))
        except ValueError:  # a ragged nest
            row = np.empty((0, 0))
        if row.ndim != 1 or (row.size and row.dtype.kind not in "iu"):
            raise ConfigError(f"{name}[{place}] is {entry!r}, expected integers")
        found.append(tuple(row.tolist()))
    return found


def _attributes(meanings: Rows) -> _Ints:
    """Return meanings as int [n, attributes]."""
    rows = _rows("meanings", meanings)
    for place, row in enumerate(rows):
        if len(row) != len(rows[0]) or not row:
            raise ConfigError(
                f"meanings[{place}] has {len(row)} attributes, expected as many as meanings[0], and 1 or more"
            )
    return np.array(rows, dtype=np.int64)


def _check_numbers(**columns: Sequence[Any] | npt.NDArray[Any]) -> None:
    numbers = {name: len(rows) for name, rows in columns.items()}
    if len(set(numbers.values())) > 1:
        listed = ", ".join(f"{number} {name}" for name, number in numbers.items())
        raise ConfigError(f"there are {listed}, expected as many of each")


def _distributions(name: str, values: npt.ArrayLike) -> _Floats:
    """Return float [..., m] whose last axis holds distributions."""
    try:
        found = np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):  # no numbers, or a ragged nest
        found = np.empty(0)
    if not found.size:
        raise ConfigError(f"{name} is {values!r}, expected an array of probabilities")
    wrong = np.argwhere(~((found >= 0).all(axis=-1) & (abs(found.sum(axis=-1) - 1) < 1e-6)))
    if len(wrong):
        place = tuple(wrong[0].tolist())
        raise ConfigError(
            f"{name}{list(place)} is {found[place].tolist()}, expected probabilities that sum to 1"
        )
    return found
