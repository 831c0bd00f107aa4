"""`VectorGame` of teams: game i is `parallel_env(chat="tokens", …)` of this team after `reset(seed=s + i)`.

The builders of a game are neighbouring rows of the batch, which share one build. Observations have a row for each game.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import ConfigError
from iglu_marl.core.grid import BLOCKS_PER_COLOR, ZONE_SHAPE
from iglu_marl.core.kernels.batch import play_many
from iglu_marl.core.kernels.records import CONTROL
from iglu_marl.core.kernels.step import sense_at, speak_at
from iglu_marl.core.kernels.talk import TeamTalk
from iglu_marl.core.threads import exclusive
from iglu_marl.envs.task_sampling import check_like
from iglu_marl.envs.vector_game import _EVENT_NAMES, ByAgent, VectorGame, VectorGameState
from iglu_marl.game.knowledge import SIDES_SHAPE, Parts

Array = npt.NDArray[Any]


class VectorTeam(VectorGame):
    """`num_games` games of a team; `VectorGame(…)` with options of a team returns this. Goals in words are refused."""

    def _make_talk(self) -> None:
        super()._make_talk()
        config, agents, count = self.config, self.possible_agents, self.num_games
        self._architects, self._builders = agents[: config.architects], agents[config.architects :]
        hearers = {agent: {agent, *config.hearers_of(agent)} for agent in agents}
        heard = {agent: frozenset(one for one in agents if agent in hearers[one]) for agent in agents}
        groups = list(dict.fromkeys([frozenset(agents), *heard.values()]))  # the first one hears all
        self._group = {agent: groups.index(heard[agent]) for agent in agents}
        self._hears = np.array([[one in group for group in groups] for one in agents])
        self._dialogs = np.zeros((len(groups), *self._batch.dialogs.shape), np.int32)
        self._batch.dialogs = self._dialogs[0]
        self._lengths = np.zeros((len(groups), count), np.int32)
        self._spoken = np.zeros((count, config.architects), np.int32)
        self._earned = np.zeros((count, config.builders))
        self._records = np.zeros(count * config.builders, CONTROL)
        stocks = [(config.inventories or {}).get(one, (BLOCKS_PER_COLOR,) * 6) for one in self._builders]
        self._stocks = np.array(stocks, np.int16) - BLOCKS_PER_COLOR
        self._parts = {agent: Parts(config.parts_of(agent)) for agent in agents}
        seen = {agent for agent in agents if "target_mask" in self.observation_spaces[agent].spaces}  # type: ignore[attr-defined]
        self._masks = {agent: np.zeros((count, *ZONE_SHAPE), np.int8) for agent in seen}
        self._sides = {agent: np.zeros((count, *SIDES_SHAPE), np.int32) for agent in seen}

    def _on_begin(self, chosen: Array) -> None:
        batch = self._batch
        if (batch._objectives[chosen] != None).any():  # noqa: E711  # by element
            raise ConfigError(
                "a task has a goal in words, expected targets where many games of a team are played"
            )
        self._lengths[:, chosen] = 0
        self._dialogs[:, chosen] = 0
        rows = batch.rows_of(chosen)
        if self._stocks.any():
            batch.worlds.inventory[rows] += np.tile(self._stocks, (len(chosen), 1))
        for row in rows.tolist() if self._stocks.any() or not self._architects else ():
            if not self._architects:
                speak_at(batch.worlds.state, row)
            sense_at(batch.worlds.state, row)
        self._learn(chosen)

    def _learn(self, chosen: Array) -> None:
        """Find out which parts of the targets the agents see."""
        if not self._masks:
            return
        targets = self._batch.worlds.target[chosen * len(self._builders)]
        for agent in self._masks:
            self._masks[agent][chosen] = self._parts[agent].mask(targets)
            self._sides[agent][chosen] = self._parts[agent].sides(targets)

    # -- a step

    def _read(self, actions: Any) -> Any:
        """Return the utterances, int64 [agents, n, words], and the builders' controls. Changes nothing."""
        self._check_agents(actions)
        said = [self._read_words(actions[one], f"the actions of {one}") for one in self._architects]
        controls = np.zeros_like(self._records)
        for row, builder in enumerate(self._builders):
            act, reply = self._read_act(builder, actions[builder])
            records, numbers = self._controls.encode_many(act, self.num_games)
            controls[row :: len(self._builders)] = records[numbers]
            if self.config.builder_can_ask:
                said.append(reply)
        shape = (len(said), self.num_games, self._chat.message_length)
        return np.array(said, np.int64).reshape(shape), controls

    def _advance(self, moves: Any, fresh: Array) -> bool:
        batch, (said, controls) = self._batch, moves
        before = batch.tasks.copy() if self._masks and batch._has_next.any() else None
        talk = TeamTalk(self._dialogs, self._lengths, self._hears, said, self._spoken, self._chat.codec.size)
        silent, _ = self._controls.yielding()
        idle_rows = np.repeat(batch.idle, len(self._builders))
        inputs = (controls, silent, batch.idle, idle_rows, talk, self._earned)
        any_over = batch.advance(play_many, inputs)
        self._spoken[fresh] = 0
        self._earned[fresh] = 0.0
        if before is not None:
            self._learn(np.flatnonzero(batch.tasks != before))
        return any_over

    def _rewards(self) -> ByAgent:
        earned = list(np.nan_to_num(self._earned).T)
        paid = self.config.pay_team(earned, list(self._spoken.T))
        rewards = {agent: np.array(reward) for agent, reward in zip(self.possible_agents, paid, strict=True)}
        if self.config.shaping:
            for builder, shaping in self._shaping().items():
                rewards[builder] += shaping
        return rewards

    def _shaping(self) -> ByAgent:
        """Return the shaping of the last step by builder."""
        by_row = self._batch.worlds.shaping.reshape(self.num_games, len(self._builders)).copy()
        return dict(zip(self._builders, by_row.T, strict=True))

    # -- what is seen

    def _views(self) -> dict[str, dict[str, Any]]:
        batch, shown, count, team = self._batch, self._batch.shown, self.num_games, len(self._builders)
        poses = (
            shown.pose.reshape(-1, team, 5)
            if len(shown.pose)
            else batch.worlds.seen_pose.reshape(count, team, 5)
        )
        views = {}
        for number, agent in enumerate(self.possible_agents):
            row = max(0, number - len(self._architects))
            mine = slice(row, None, team)
            alone = team == 1 or agent in self._builders
            target = batch.worlds.target[::team]
            known: dict[str, Any] = {
                "inventory": shown.inventory[mine],
                "compass": shown.compass.reshape(-1, 1)[mine],
                "dialog": self._dialogs[self._group[agent]],
                "pov": batch.pov[mine],
                "agentPos": poses[:, row] if alone else poses,
                "others": np.delete(poses, row, axis=1),
                "grid": shown.grid.reshape(-1, *ZONE_SHAPE)[mine],
                "target_mask": self._masks.get(agent),
                "target_sides": self._sides.get(agent),
                **{name: part[mine] for name, part in batch.sights._asdict().items() if name != "ids"},
            }
            keys = self.observation_spaces[agent].spaces  # type: ignore[attr-defined]
            if "target_grid" in keys:
                known["target_grid"] = (target * self._masks.get(agent, 1)).astype(keys["target_grid"].dtype)
            views[agent] = {key: known[key] for key in keys}
        return views

    def _infos(self) -> dict[str, dict[str, Any]]:
        shown, team = self._batch.shown, len(self._builders)
        names = _EVENT_NAMES[shown.event].reshape(self.num_games, team)
        counts = dict(zip(("intersection", "target_blocks", "blocks"), shown.counts[::team].T, strict=True))
        infos: dict[str, dict[str, Any]] = {}
        for agent in self._architects:
            events = {one: names[:, row].copy() for row, one in enumerate(self._builders)}
            infos[agent] = {"events": events} if team > 1 else {"event": events["builder_0"]}
            if self._parts[agent].whole:
                infos[agent] |= {name: values.copy() for name, values in counts.items()}
                if self.config.shaping:
                    shaping = self._shaping()
                    infos[agent]["shaping"] = shaping if team > 1 else shaping["builder_0"]
        return infos | {one: {"event": names[:, row].copy()} for row, one in enumerate(self._builders)}

    # -- saving

    @exclusive
    def get_state(self) -> VectorGameState:
        """Return everything needed to resume from here."""
        return super().get_state()._replace(heard=self._dialogs.copy())

    @exclusive
    def set_state(self, state: VectorGameState) -> None:
        """Restore a state from `get_state`. Raises `StateError`, and changes nothing, if it does not fit."""
        heard: Any = getattr(state, "heard", None)
        check_like(heard, self._dialogs, "heard")
        super().set_state(state)
        self._dialogs[1:] = heard[1:]
        self._earned[:] = 0.0
        self._learn(self._batch.everyone)

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__dict__.update(saved)
        self._batch.dialogs = self._dialogs[0]  # has to be a view of these
