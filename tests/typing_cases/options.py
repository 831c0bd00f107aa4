"""The options of environments and builders are known to type checkers by name and by type."""

import iglu_marl
from iglu_marl.agents import ScriptedBuilder
from iglu_marl.envs import VectorGame

iglu_marl.env(controls="flying", turn_steps=20)
iglu_marl.parallel_env(chat="tokens", vocabulary=8, max_turns=None)
VectorGame(4, num_threads=2, message_cost=0.1)
ScriptedBuilder("flying", can_ask=True)

iglu_marl.env(turn_step=20)  # type: ignore[call-arg]
iglu_marl.raw_env(controls="swimming")  # type: ignore[arg-type]
iglu_marl.parallel_env(max_turn=3)  # type: ignore[call-arg]
VectorGame(4, vocabluary=8)  # type: ignore[call-arg]
ScriptedBuilder("flying", can_aks=True)  # type: ignore[call-arg]
