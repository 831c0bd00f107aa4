"""The options of environments and builders are known to type checkers by name and by type."""

import iglu_marl
from iglu_marl.agents import ScriptedBuilder
from iglu_marl.envs import (
    GridworldEnv,
    GridworldVectorEnv,
    SilentBuilderEnv,
    SilentBuilderVectorEnv,
    VectorGame,
)
from iglu_marl.envs.language import make_language_goal

iglu_marl.env(controls="flying", turn_steps=20)
iglu_marl.parallel_env(chat="tokens", vocabulary=8, max_turns=None)
VectorGame(4, num_threads=2, message_cost=0.1)
ScriptedBuilder("flying", can_ask=True)

iglu_marl.env(turn_step=20)  # type: ignore[call-arg]
iglu_marl.env(tasks=8)  # type: ignore[arg-type]
iglu_marl.env(renderer=5)  # type: ignore[arg-type]
iglu_marl.raw_env(controls="swimming")  # type: ignore[arg-type]
iglu_marl.parallel_env(max_turn=3)  # type: ignore[call-arg]
VectorGame(4, vocabluary=8)  # type: ignore[call-arg]

GridworldEnv("flying", vector_state=True, max_steps=9, render_mode="ansi")
GridworldEnv(compat="iglu2022", right_placement_scale=2, fake=True)
SilentBuilderEnv(visual=True, controls="discrete", compat="iglu2021")
GridworldVectorEnv(4, action_space="walking", render=False, info_keys=("event",), step_cost=0.1)
SilentBuilderVectorEnv(4, visual=True, autoreset_mode="SameStep")

make_language_goal(terminate_on_success=False, num_object=5, max_steps=100)
make_language_goal(controls="cells", goal_in_obs="multi-hot", step_cost=0.1)

GridworldEnv(max_step=9)  # type: ignore[call-arg]
GridworldEnv(render_mode="film")  # type: ignore[arg-type]
GridworldEnv(compat="iglu1999")  # type: ignore[arg-type]
SilentBuilderEnv(right_placement_scale=2)  # type: ignore[call-arg]
SilentBuilderEnv(compat="iglu2022")  # type: ignore[arg-type]
SilentBuilderEnv("swimming")  # type: ignore[arg-type]
GridworldVectorEnv(4, vector_stat=True)  # type: ignore[call-arg]
GridworldVectorEnv(4, info_keys="event")  # type: ignore[arg-type]
SilentBuilderVectorEnv(4, architect=None)  # type: ignore[call-arg]
make_language_goal(max_step=9)  # type: ignore[call-arg]
make_language_goal(controls="imperfect")  # type: ignore[arg-type]
ScriptedBuilder("flying", can_aks=True)  # type: ignore[call-arg]
