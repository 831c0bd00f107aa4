"""The two-agent game in thousands of worlds at once, with token chat: `parallel_env` with a leading axis.

Shaped like a PettingZoo parallel environment: everything is a dict by agent, in which every array has a row for each
game. Game i after `reset(seed=s)` is `parallel_env(chat="tokens")` after `reset(seed=s + i)`, in all its episodes.
Games restart automatically, so `agents` never becomes empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from typing_extensions import Unpack

from iglu_marl.core.controls import many_tokens
from iglu_marl.core.errors import ActionError, ConfigError, StateError
from iglu_marl.core.grid import ZONE_SHAPE
from iglu_marl.core.kernels.batch import converse_many
from iglu_marl.core.kernels.records import CONTROL
from iglu_marl.core.kernels.talk import Talk
from iglu_marl.core.threads import exclusive
from iglu_marl.envs.batch import Batch, BatchState, HasBatch, read_mode
from iglu_marl.envs.batch_observations import BatchObsSpec, copied, final_infos, shown_space
from iglu_marl.envs.documentation import PAIR, documented
from iglu_marl.envs.parallel import ParallelGame
from iglu_marl.envs.task_sampling import check_like
from iglu_marl.envs.two_agent import ARCHITECT, BUILDER, METADATA, BatchedSpacesByAgent
from iglu_marl.game.chat import TokenChat
from iglu_marl.game.config import COMPUTED_SIGHTS, TARGET_SIGHTS, GameConfig, GameOptions
from iglu_marl.game.effects import Setting
from iglu_marl.game.episode import AGENTS, EVENTS

SIGHTS = ("target_grid", "grid", "dialog", "pose")  # of the architect, where many games are played

Array = npt.NDArray[Any]
ByAgent = dict[str, Any]

_OWN_OPTIONS = ("autoreset_mode", "num_threads", "copy")
_EVENT_NAMES = np.array(EVENTS, object)


class VectorGameState(NamedTuple):
    """A saved batch of games. heard: the dialogues of agents of a team that do not hear all others."""

    batch: BatchState
    lengths: Array
    heard: Array | None = None


@documented(*PAIR)
class VectorGame(HasBatch, BatchedSpacesByAgent):
    """Architect and builder in `num_games` games; both act in every step.

    Games of a team (see `iglu_marl.envs.vector_team`) have all its agents, who act in every step, in order.

    config, options: as of `parallel_env`; `chat` is "tokens" here, and architects see no pictures and no texts.
    autoreset_mode: "NextStep" (default: the step after the end of a game ignores the actions and begins the next),
        "SameStep" (the same step begins the next; the end is in `infos[agent]["final_obs"]`, an object array of
        observations, and `infos[agent]["final_info"]`), or "Disabled".
    num_threads, copy: as of `iglu_marl.envs.vector.BuilderVectorEnv`.

    actions: {"architect_0": int [num_games, words] (0 = padding; all 0 = silence), "builder_0": a batch of the
    builder's space}. infos: the architect's hold `intersection`, `target_blocks` and `blocks`, int32 [num_games].
    """

    metadata: dict[str, Any] = METADATA

    def __new__(
        cls, num_games: int = 1, config: GameConfig | str | None = None, **options: Any
    ) -> VectorGame:
        """Return an object for one of each, or for a team."""
        known = {name: value for name, value in options.items() if name not in _OWN_OPTIONS}
        if cls is VectorGame and GameConfig.of(config, known).is_team:
            from iglu_marl.envs.vector_team import VectorTeam

            return super().__new__(VectorTeam)
        return super().__new__(cls)

    def __init__(
        self,
        num_games: int = 1,
        config: GameConfig | str | None = None,
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        num_threads: int = 1,
        copy: bool = True,
        **options: Unpack[GameOptions],
    ) -> None:
        if not isinstance(copy, bool):
            raise ConfigError(f"copy is {copy!r}, expected True or False")
        if not isinstance(config, GameConfig):
            options.setdefault("chat", "tokens")
        self._single = ParallelGame(GameConfig.read(Setting("vector", "VectorGame"), config, options))
        self.config = self._single.config
        if self.config.chat != "tokens":
            raise ConfigError(
                f"chat is {self.config.chat!r}, expected 'tokens' where many games are played at once"
            )
        if not set(self.config.architect_sees) <= set(SIGHTS):
            raise ConfigError(
                f"architect_sees is {self.config.architect_sees!r}, expected names from {', '.join(SIGHTS)} where many "
                "games are played at once"
            )
        self.autoreset_mode, self.copy = read_mode(autoreset_mode), copy
        self.metadata = {**METADATA, "autoreset_mode": self.autoreset_mode}
        self.render_mode = self.config.render_mode
        self._make_batch(num_games, num_threads)
        self._make_spaces()
        self._make_talk()

    def _make_batch(self, count: int, num_threads: int) -> None:
        seen = (*self.config.architect_sees, *self.config.builder_sees)
        obs_spec = BatchObsSpec(
            pose="pose" in seen,
            grid="grid" in seen,
            target="target_grid" in seen,
            pov="pov" in seen,
            computed=set(seen) & {*COMPUTED_SIGHTS, *TARGET_SIGHTS},
            radius=self.config.egocentric_radius,
            max_wrong_cells=self.config.max_wrong_cells,
            events=True,
        )
        self._batch = Batch(
            count, self._single.setup, obs_spec, num_threads=num_threads, team=self.config.builders
        )
        self._batch.on_begin = self._on_begin
        self.num_games = self._batch.count
        self._controls, self._records = self._single.setup.controls, np.zeros(count, CONTROL)

    def _make_spaces(self) -> None:
        single = self._single
        self.possible_agents = list(single.possible_agents)
        self.agents: list[str] = []
        self.observation_spaces = {
            agent: shown_space(space) for agent, space in single.observation_spaces.items()
        }
        self.action_spaces = dict(single.action_spaces)
        self._set_batched(self.num_games)

    def _make_talk(self) -> None:
        chat = self._batch.chat
        assert isinstance(chat, TokenChat)
        chat.check_lossless()
        self._chat = chat
        self._lengths = np.zeros(self.num_games, np.int32)
        self._spoken = np.zeros(self.num_games, np.int32)
        self._marks = np.array([chat.codec.size, chat.codec.size + 1], np.int32)
        self._silence = np.zeros((self.num_games if self.config.builder_can_ask else 0, 1), np.int64)

    def _on_begin(self, chosen: Array) -> None:
        self._lengths[chosen] = 0

    # -- as PettingZoo has it

    @property
    def unwrapped(self) -> VectorGame:
        """The environment itself."""
        return self

    @exclusive
    def reset(self, seed: Any = None, options: Mapping[str, Any] | None = None) -> tuple[ByAgent, ByAgent]:
        """Start all games. Return observations and infos by agent.

        seed: s seeds game i as `reset(seed=s + i)` seeds a `parallel_env`; or a list with a seed for each game.
        options: `task`, `pose` and `reset_mask` as in the vector environments. Poses of a team are dicts by builder; a
        list has one entry for each game.
        """
        self._batch.reset(seed, options)
        self._batch.refresh()
        self.agents = list(self.possible_agents)
        return self._observations(), self._infos()

    @exclusive
    def step(self, actions: Mapping[str, Any]) -> tuple[ByAgent, ByAgent, ByAgent, ByAgent, ByAgent]:
        """Run one step of every game: observations, rewards, terminations, truncations, infos by agent.

        All agents always need an action.
        """
        batch = self._batch
        if not self.agents:
            raise StateError("the games have not begun: call reset() before step()")
        moves = self._read(actions)
        fresh = batch.begin_next(self.autoreset_mode)
        any_over = self._advance(moves, fresh)
        batch.refresh()
        rewards, agents = self._rewards(), self.possible_agents
        terminated, truncated = batch.ends()
        ends = (
            {agent: terminated.copy() for agent in agents},
            {agent: truncated.copy() for agent in agents},
        )
        if not (any_over and self.autoreset_mode is AutoresetMode.SAME_STEP):
            return self._observations(), rewards, *ends, self._infos()
        final = self._final()
        batch.reset_done(np.flatnonzero(batch.over))
        batch.refresh()
        infos = self._infos()
        for agent in agents:
            infos[agent].update(final[agent])
        return self._observations(), rewards, *ends, infos

    def _advance(self, moves: Any, fresh: Array) -> bool:
        """Run the step in all games but the fresh ones. Return whether a game is over."""
        batch, (said, replies, controls, numbers) = self._batch, moves
        talk = Talk(batch.dialogs, self._lengths, self._spoken, said, replies, self._marks)
        silent, _ = self._controls.yielding()
        any_over = batch.advance(converse_many, (controls, numbers, silent, batch.idle, talk))
        self._spoken[fresh] = 0
        return any_over

    def _rewards(self) -> ByAgent:
        architect, _ = self.config.pay(self._batch.shown.reward.copy(), self._spoken)
        return dict(zip(AGENTS, (architect, self._batch.rewards.copy()), strict=True))

    # -- actions

    def _read(self, actions: Any) -> Any:
        """Return the utterances of both, int64, and the builder's controls. Changes nothing."""
        self._check_agents(actions)
        said = self._read_words(actions[ARCHITECT], f"the actions of {ARCHITECT}")
        act, replies = self._read_act(BUILDER, actions[BUILDER])
        return said, replies, *self._controls.encode_many(act, self.num_games, self._records)

    def _check_agents(self, actions: Any) -> None:
        if not isinstance(actions, Mapping) or actions.keys() != self.action_spaces.keys():
            got = sorted(map(str, actions)) if isinstance(actions, Mapping) else repr(actions)
            raise ActionError(
                f"actions are for {got}, expected a dict with one batch each for {self.possible_agents}"
            )

    def _read_act(self, agent: str, act: Any) -> tuple[Any, Array]:
        """Return the acts of a builder, and what it says."""
        if not self.config.builder_can_ask:
            return act, self._silence
        if not isinstance(act, Mapping) or act.keys() != {"act", "say"}:
            raise ActionError(
                f"the actions of {agent} are {act!r:.80}, expected a dict with the keys act and say"
            )
        return act["act"], self._read_words(act["say"], f"actions['say'] of {agent}")

    def _read_words(self, value: Any, where: str) -> Array:
        return many_tokens(value, (self.num_games, self._chat.message_length), self._chat.codec.size, where)

    # -- what is seen

    def _views(self) -> dict[str, dict[str, Any]]:
        batch, shown, count = self._batch, self._batch.shown, self.num_games
        views = {
            "inventory": shown.inventory,
            "compass": shown.compass.reshape(count, 1),
            "dialog": batch.dialogs,
            "pov": batch.pov,
            "agentPos": shown.pose,
            "grid": shown.grid.reshape(-1, *ZONE_SHAPE),
            "target_grid": shown.target.reshape(-1, *ZONE_SHAPE),
            **batch.sights._asdict(),
        }
        return {
            agent: {key: views[key] for key in self.observation_spaces[agent].spaces}  # type: ignore[attr-defined]
            for agent in self.possible_agents
        }

    def _observations(self) -> ByAgent:
        views = self._views()
        if not self.copy:
            return views
        # Agents share no memory: what two see is copied twice.
        return {agent: copied(seen) for agent, seen in views.items()}

    def _infos(self) -> dict[str, dict[str, Any]]:
        """Return the infos. The builder's do not depend on the target."""
        shown = self._batch.shown
        names = _EVENT_NAMES[shown.event]
        counts = dict(zip(("intersection", "target_blocks", "blocks"), shown.counts.T.copy(), strict=True))
        infos = {ARCHITECT: {"event": names, **counts}, BUILDER: {"event": names.copy()}}
        if self.config.shaping:
            infos[ARCHITECT]["shaping"] = self._batch.worlds.shaping.copy()
        return infos

    def _final(self) -> dict[str, dict[str, Any]]:
        """Return the last observations and infos of games that ended."""
        views, infos, over = self._views(), self._infos(), self._batch.over
        return {agent: final_infos(views[agent], infos[agent], over) for agent in self.possible_agents}

    def state(self) -> npt.NDArray[np.float32]:
        """Return states for a centralised critic, float32 [num_games, n]; columns as in `parallel_env().state()`."""
        return self._single.scaled_state.read(self._batch.worlds, self._batch.dialogs)

    @property
    def state_space(self) -> spaces.Box:
        """The space of one game's row of `state()`."""
        return self._single.state_space

    # -- pictures, saving, end

    def render(self) -> tuple[Any, ...] | None:
        """Return the composed frame or text of each game, one after the other."""
        return self._batch.render(self._single)

    def close(self) -> None:
        """Close threads, window and renderer."""
        self._batch.close()

    @exclusive
    def get_state(self) -> VectorGameState:
        """Return everything needed to resume from here."""
        return VectorGameState(self._batch.get_state(), self._lengths.copy())

    @exclusive
    def set_state(self, state: VectorGameState) -> None:
        """Restore a state from `get_state`. Raises `StateError`, and changes nothing, if it does not fit."""
        if not isinstance(state, VectorGameState):
            raise StateError(f"state is a {type(state).__name__}, expected what get_state returns")
        check_like(state.lengths, self._lengths, "lengths")
        self._batch.set_state(state.batch)
        self._lengths[:] = state.lengths
        self.agents = list(self.possible_agents) if self._batch.begun else []
        self._batch.refresh()

    # -- changes from outside

    @exclusive
    def edit(self, blocks: Any, index: Any = None, *, builder: str = BUILDER) -> None:
        """Change the worlds of running games, as `edit` of a `parallel_env` does. The next observations show it.

        Args:
            blocks: as in a `parallel_env`, the same in all these games.
            index: of a game, or of several; None: all.
            builder: whose stock gives the new blocks and gets the old ones.

        Raises the errors of a `parallel_env`; a game that waits for its reset is over. Nothing has changed then.

        """
        self._batch.edit(blocks, index, builder)
