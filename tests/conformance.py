"""What becomes of every documented item of the IGLU tools and of CLEVR-Robot, and which test shows it.

The tables of docs/migration.md are made of these rows (`PYTHONPATH=. python tests/test_docs.py`);
`compat/test_conformance.py` sees to it that no item is left out and that every test exists. A row is for one item, or for a
few that belong together, in the words of its document.

- same: a program, or a sequence of calls, was run in the tool and here, and gave the same.
- as documented: written as before, it does what the document says; with another import, or with the profile that `how`
  names. Whether the tool itself does so is not said here: `python -m benchmarks.conformance` measures it.
- differs: it is there, and `how` says what is other about it, and why.
- refused: it is not there, or an error; `how` says what to use instead.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Verdict = Literal["same", "as documented", "differs", "refused"]


class Row(NamedTuple):
    """One item. `test` is a file below tests/ and a test in it; in `how`, bars may not occur."""

    item: str
    verdict: Verdict
    how: str
    test: str


_WORLD, _NAMES = "compat/test_gridworld.py", "compat/test_names_of_2022.py"
_USAGE, _TASKS, _DATASETS = "compat/test_usage.py", "compat/test_tasks.py", "compat/test_datasets.py"
_EXAMPLES, _CONTROLS, _SCORING = "envs/test_seed_examples.py", "core/test_controls.py", "core/test_scoring.py"
_GOALS, _CLEVR = "envs/test_language_goals.py", "compat/test_clevr_robot.py"
# fmt: off
GRIDWORLD = [
    Row("`import gridworld`, `from gridworld.tasks import DUMMY_TASK`", "as documented", "", f"{_USAGE}::test_the_loop_of_2022"),
    Row("`import gym`, `gym.make`, `env.reset()`, `env.step(action)` of four values", "as documented", "", f"{_USAGE}::test_the_loop_of_2022"),
    Row("`env.set_task(DUMMY_TASK)`", "same", "at once; it takes a session, too", f"{_WORLD}::test_programs_of_calls_give_what_they_gave_in_the_tool"),
    Row("mandatory to task the environment", "same", "", f"{_WORLD}::test_programs_of_calls_give_what_they_gave_in_the_tool"),
    Row("rendering is enabled by default, `render=False`", "as documented", "", f"{_EXAMPLES}::test_vector_state"),
    Row("headless by default, `IGLU_HEADLESS=0`", "as documented", "", f"{_EXAMPLES}::test_a_window_is_asked_for_by_the_environment_variable"),
    Row("`MESA_LOADER_DRIVER_OVERRIDE`, docker", "refused", "nothing needs them: pictures are painted without OpenGL", f"{_EXAMPLES}::test_the_observation_space"),
    Row("`action_space='walking'`: `Discrete(18)`", "as documented", "", f"{_USAGE}::test_the_action_spaces_of_2022"),
    Row("0 no-op, 1 to 4 steps of 0.25 block, 5 jump", "as documented", "", f"{_CONTROLS}::test_walking_moves_a_quarter_of_a_cell"),
    Row("6-11 inventory select", "same", "with `gymnasium` and `compat=None` in the order of 2021, choosing only", f"{_WORLD}::test_programs_of_calls_give_what_they_gave_in_the_tool"),
    Row("12, 13 camera left and right by 5 degrees", "as documented", "", f"{_CONTROLS}::test_walking_looks_around"),
    Row("14 camera up, 15 camera down", "differs", "the tool has them the other way round, and so has `iglu_marl.compat`; with `gymnasium` and `compat=None` as documented", f"{_CONTROLS}::test_looking_up_and_down_is_swapped_for_2022"),
    Row("16 break block, 17 place block", "as documented", "", f"{_CONTROLS}::test_walking_places_and_breaks"),
    Row("`action_space='flying'`: movement, camera, inventory, placement", "as documented", "", f"{_CONTROLS}::test_spaces_of_one_agent"),
    Row("inventory, compass, dialog and pov are observed", "as documented", "", f"{_EXAMPLES}::test_the_observation_space"),
    Row("compass: between yaw and North", "differs", "the yaw less 180, as in the tool; without a profile, 0 is north", f"{_CONTROLS}::test_the_compass_of_2022_is_computed_in_double"),
    Row("dialog: the full previous dialog and the most recent instruction", "as documented", "as it was written; without a profile in lines `<Architect> …`", f"{_EXAMPLES}::test_the_chat_is_shown_as_it_was_written"),
    Row("pov: `Box(low=0, high=255, shape=(64, 64, 3))`", "as documented", "", f"{_EXAMPLES}::test_the_observation_space"),
    Row("`vector_state=True`: agentPos, grid", "as documented", "the space of agentPos is wider: y in -3..13.25, so that it holds every pose there can be", f"{_EXAMPLES}::test_vector_state"),
    Row("`target_in_obs=True`: target_grid", "as documented", "", f"{_EXAMPLES}::test_target_in_obs"),
    Row("reward from the maximal intersection over translations and rotations, `maximal_intersection`", "same", "tasks and environments of `iglu_marl.compat` as the tool, whose shifts keep the target inside the zone and which scores what differs from the start; `iglu_marl.maximal_intersection` by the published definition", f"{_WORLD}::test_programs_of_calls_give_what_they_gave_in_the_tool"),
    Row("`calc_reward`: 2, -2, 1, -1", "as documented", "in `iglu_marl.compat.tasks`, positive for a removed block as in the text", f"{_TASKS}::test_rewards_are_those_of_the_definition"),
    Row("`right_scale`, `wrong_scale` passed to `gym.make`", "differs", "the tool does not know these names; here they are the scales, and switch `size_reward` off", f"{_USAGE}::test_scales_in_2022"),
    Row("`invariant=False` of a Task", "as documented", "", f"{_TASKS}::test_the_score_of_a_difference"),
    Row("rotations and translations count by default", "as documented", "for tasks of `iglu_marl.compat`", f"{_TASKS}::test_options_of_datasets"),
    Row("`from gridworld.data import IGLUDataset`, `dataset_version`", "as documented", "there is one release, and every version is taken for it", f"{_USAGE}::test_a_dataset_as_a_generator_in_2022"),
    Row("`env.set_task_generator(dataset)`: a task at each `reset()`", "same", "`env.seed` decides which", f"{_WORLD}::test_programs_of_calls_give_what_they_gave_in_the_tool"),
    Row("Task: `target_grid`, `starting_grid`, `chat`, `last_instruction`", "as documented", "", f"{_TASKS}::test_attributes_of_a_task"),
    Row("`starting_grid` is optional", "as documented", "None or what was given; in sessions a list of blocks", f"{_TASKS}::test_the_first_starting_grid"),
    Row("`last_instruction` with a clarifying question and its answer", "as documented", "", f"{_DATASETS}::test_the_structure_of_the_tasks"),
    Row("`Subtasks`: `reset()` picks a random turn", "as documented", "", f"{_TASKS}::test_sessions"),
    Row("`dataset.tasks['c73'][0]` is an instance of `Subtasks`", "as documented", "", f"{_DATASETS}::test_the_structure_of_the_tasks"),
    Row("`reset` of a dataset: `random.choice` of structures, then of sessions", "as documented", "from a seeded generator, never from the global one", f"{_DATASETS}::test_what_sample_effectively_does"),
    Row("a subclass, `MyDataset`, overrides `reset`", "as documented", "", f"{_USAGE}::test_a_subclass_of_a_dataset_in_2022"),
    Row("downloaded and parsed on first creation", "differs", "from `path=`, `IGLU_DATA_PATH` or a download that is checked by size and hash; what cannot be read is counted in `report()`", "data/test_fetch.py::test_a_pack_that_is_nowhere_is_fetched"),
    Row("`dialogs.csv`, `builder-data/1-c118/step-2`", "as documented", "", "data/test_multiturn_dataset.py::test_sessions_by_structure"),
]

IGLU_DATASETS = [
    Row("`from iglu_datasets import MultiturnDataset, SingleturnDataset`", "as documented", "", f"{_USAGE}::test_the_datasets_of_2022"),
    Row("`dataset_version='v1.0'`, or empty for the most recent", "as documented", "there is one release, and every version is taken for it", f"{_TASKS}::test_options_of_datasets"),
    Row("`dataset.sample()` gives a `Task`", "as documented", "", f"{_USAGE}::test_what_is_printed_of_a_sample"),
    Row("`sample.dialog`: the whole prior conversation EXCLUDING the current instruction", "as documented", "", f"{_TASKS}::test_attributes_of_a_task"),
    Row("`dialog` - full conversation, including the most recent instruction", "differs", "without it, as the same document says first; `chat` has it", f"{_TASKS}::test_attributes_of_a_task"),
    Row("`sample.instruction`: instruction, question, answer concatenated", "as documented", "", f"{_DATASETS}::test_the_structure_of_the_tasks"),
    Row("`sample.target_grid`, `sample.starting_grid`: 3D numpy arrays of shape (9, 11, 11)", "as documented", 'in the colour ids of 2022; `ids="iglu"` gives those of `iglu_marl`', f"{_TASKS}::test_colours_of_data_are_those_of_2022"),
    Row("`Subtasks`: `sample()` picks a random turn", "as documented", "", f"{_TASKS}::test_sessions"),
    Row("`dataset.tasks['c73'][0]`", "as documented", "", f"{_DATASETS}::test_the_structure_of_the_tasks"),
    Row("`sample` of a dataset: `random.choice` of structures, then of sessions", "as documented", "from a seeded generator, never from the global one", f"{_DATASETS}::test_what_sample_effectively_does"),
    Row("a subclass, `MyDataset`, overrides `sample`", "as documented", "", f"{_USAGE}::test_a_subclass_that_samples_its_own_way"),
    Row("`dialogs.csv`, `builder-data/1-c118/step-2`", "as documented", "", "data/test_multiturn_dataset.py::test_sessions_by_structure"),
    Row("`clarifying_questions_train.csv`: GameId, InitializedWorldPath, InputInstruction, IsInstructionClear, ClarifyingQuestion, qrel, qbank", "as documented", "`iglu_marl.data.clarifying_questions`", "data/test_questions.py::test_rows_are_read_from_a_pack"),
    Row("`question_bank.csv`", "as documented", "`iglu_marl.data.question_bank`", "data/test_questions.py::test_rows_are_read_from_a_pack"),
    Row("qrel and qbank merged are the questions to rank", "as documented", "`iglu_marl.data.RankingTask`", "data/test_questions.py::test_the_ranking_task"),
    Row("`initial_world_states`, `target_world_states` with `actionHit`", "as documented", "", "data/test_singleturn.py::test_a_made_pack"),
    Row("`maximal_intersection`; f1, precision, recall", "as documented", "`iglu_marl.intersection_scores`", f"{_SCORING}::test_precision_recall_f1"),
    Row("`calc_reward`, right_scale=2, wrong_scale=1", "as documented", "in `iglu_marl.compat.tasks`", f"{_TASKS}::test_rewards_are_those_of_the_definition"),
    Row("`human_evaluation`: `human_agent_feedback.csv`", "as documented", "`iglu_marl.data.human_evaluation`", "data/test_human_evaluation.py::test_cells_are_typed"),
    Row("`gamedata.json`, `taskdata.json`", "differs", "read where they are; else a typed `Unavailable`, since they were published as pointers", "data/test_human_evaluation.py::test_what_stands_beside_the_table"),
    Row("pandas, opencv-python, PILLOW, filelock are required", "differs", "importing the datasets loads none of the heavy ones", f"{_DATASETS}::test_importing_a_shim_imports_nothing_heavy"),
]

SILENT_BUILDER = [
    Row("`IGLUSilentBuilder-v0`, `IGLUSilentBuilderVisual-v0`", "as documented", "", f"{_USAGE}::test_the_encodings_of_2021"),
    Row("pov, inventory, agentPos, grid, compass with angle, chat", "as documented", "the space of the Visual id is without agentPos and grid; its observations have grid, as in the tool", f"{_EXAMPLES}::test_silent_builder_observations"),
    Row("grid: -1 is air, then 0 to 5 in the order of the inventory", "as documented", "in that of `id2color`: blue, yellow, green, orange, purple, red", f"{_EXAMPLES}::test_silent_builder_observations"),
    Row("inventory: blue, yellow, green, orange, purple, red; blue is active at the start", "as documented", "", f"{_CONTROLS}::test_walking_places_and_breaks"),
    Row("agentPos: x, y, z, pitch, yaw; low and high `[-5, 0, -5, 0, -90]`, `[5, 8, 5, 360, 90]`", "differs", 'pitch before yaw, as the text has it, not as the bounds have; with `compat="iglu2021"` y is that of the feet above the floor and pitch counts downwards; the space holds every pose there can be, beyond the zone as well', f"{_EXAMPLES}::test_the_profile_of_2021"),
    Row("spawns at the center of the building zone", "as documented", "", f"{_USAGE}::test_the_encodings_of_2021"),
    Row("chat: the conversation of the current task", "as documented", 'with `compat="iglu2021"` the whole conversation of a session, as it was written', f"{_EXAMPLES}::test_the_profile_of_2021"),
    Row("`info['target_grid']`, as grid", "as documented", "", f"{_USAGE}::test_custom_tasks_of_2021"),
    Row("`action_space='human-level'`, the default: forward, back, left, right, jump, attack, use, camera, hotbar", "as documented", "", f"{_CONTROLS}::test_default_spaces"),
    Row("`action_space='discrete'`: move, strafe, jump; a jump with a move climbs", "as documented", "", f"{_CONTROLS}::test_discrete_steps"),
    Row("move and strafe: no-op, forward and backward, right and left", "as documented", "", f"{_CONTROLS}::test_discrete_moves_along_the_nearest_direction"),
    Row("`action_space='continuous'`: move_x, move_y, move_z without collisions", "as documented", "", f"{_CONTROLS}::test_continuous_passes_through_blocks"),
    Row("continuous: states change with a delay of 2-4 actions", "differs", "at once: there is no Minecraft behind it", f"{_CONTROLS}::test_continuous_moves_along_the_axes_of_the_map"),
    Row("the same action space as in MineRL: camera", "as documented", 'with `compat="iglu2021"` (pitch, yaw), pitch downwards; else (yaw, pitch), pitch upwards', f"{_CONTROLS}::test_the_camera_of_minerl_is_pitch_and_yaw_and_pitch_goes_down"),
    Row("`env.reset()` is a fake reset, `IGLU_DISABLE_FAKE_RESET=1`", "refused", "nothing is to be disabled: every reset restores everything", "envs/test_contracts.py::test_the_same_seed_gives_the_same_episode"),
    Row("reward: 2, -2, 1, -1", "as documented", "", f"{_TASKS}::test_rewards_are_those_of_the_definition"),
]

IGLU_TASKS = [
    Row("`from iglu.tasks import RandomTasks`, `env.update_taskset`", "as documented", "", f"{_USAGE}::test_random_tasks_of_2021"),
    Row("`iglu.tasks.task_set`: `RandomTasks(max_blocks=4, height_levels=1, allow_float=False, max_dist=2, num_colors=1, max_cache=0)`", "as documented", "", "tasks/test_sources.py::test_random_tasks_honour_every_parameter"),
    Row("`sample_task`, and `max_cache` for a fixed number of tasks", "as documented", "", "tasks/test_sources.py::test_a_cache_is_a_fixed_stock"),
    Row("random tasks have an empty chat", "as documented", "", f"{_USAGE}::test_random_tasks_of_2021"),
    Row("`env.action_space.sample()`, `env.reset()`, `env.step(action)` of four values", "as documented", "", f"{_USAGE}::test_random_tasks_of_2021"),
    Row("`CustomTasks([(conversation, custom_grid)])`", "as documented", "", f"{_USAGE}::test_custom_tasks_of_2021"),
    Row("`from iglu.const import id2color`: air, blue, yellow, green, orange, purple, red", "as documented", "", f"{_USAGE}::test_colours_of_2021"),
    Row("`TaskSet(preset=['C1', 'C2', 'C3'])`", "as documented", "the corpus has to be on disk, or a file of structures; the error says what to get", f"{_USAGE}::test_named_tasks_of_2021"),
    Row("`TaskSet.ALL`, `TaskSet.ALL.items()`", "as documented", "", "tasks/test_sources.py::test_the_list_is_the_documented_one"),
    Row("a task is a whole conversation and the final structure", "as documented", 'with `compat="iglu2021"`; else, where none are given, a turn of a session', f"{_EXAMPLES}::test_the_profile_of_2021"),
    Row("by default the task C8", "differs", "where the corpus is at hand; else tasks that come with the package", "tasks/test_sources.py::test_data_on_the_machine_change_no_default_but_the_documented_one"),
]

# CLEVR-Robot is not imitated but followed: its README on a builder and its blocks.
CLEVR_ROBOT = [
    Row("`ClevrEnv()`: objects on a table, MuJoCo", "differs", '`iglu_marl.compat.clevr_robot.ClevrEnv()`, or `gym.make("iglu_marl/LanguageGoal-v0")`: a builder and blocks', f"{_GOALS}::test_a_goal_is_drawn_that_does_not_hold_yet"),
    Row("objects of customizable colour, shape, size and material, up to 5", "differs", "blocks of six colours, and rows, towers and squares of them; there is no material", f"{_GOALS}::test_resets_place_the_same_things_again"),
    Row("text and program; programs are executed on the scene graph", "as documented", "", f"{_GOALS}::test_questions_in_words"),
    Row("descriptions resemble questions, but need not be questions", "as documented", "`describe=` says which", f"{_GOALS}::test_questions_can_be_descriptions"),
    Row("the standard OpenAI gym interface: `env.reset()`, `env.step(action)`, `action_space`", "as documented", "with `ClevrEnv`; else Gymnasium's, of two and five values", f"{_CLEVR}::test_the_readme_of_clevr_robot"),
    Row("`obs_type`: state or images", "as documented", '"direct", "order_invariant" or "image"; observations are dicts with `grid`, `blocks` or `pov`; OpenCV is not needed', f"{_GOALS}::test_observations_lie_in_their_space"),
    Row("`env.sample_random_action()`", "as documented", "", f"{_GOALS}::test_the_reward_is_one_when_the_goal_holds"),
    Row("`env.reset(new_scene_content=True)`", "as documented", "", f"{_GOALS}::test_resets_place_the_same_things_again"),
    Row("`env.get_description()`: description, full_description with question, program, answer", "as documented", "", f"{_GOALS}::test_descriptions_are_right_and_lazy"),
    Row("`env.descriptions`, `env.full_descriptions`, lazily", "as documented", "", f"{_GOALS}::test_descriptions_are_right_and_lazy"),
    Row("`env.step(action, update_des=True)`: `info['descriptions']`, `info['full_descriptions']`", "as documented", "", f"{_GOALS}::test_descriptions_are_right_and_lazy"),
    Row('"There is a green rubber ball; is there a large red ball to the left of it?"', "differs", "of blocks: thing is a block, large a group, small a block; there is no material", f"{_CLEVR}::test_sentence_forms_of_clevr"),
    Row("a random goal at the reset; the reward is 1 when it holds", "as documented", "with `ClevrEnv`, from construction on", f"{_GOALS}::test_the_reward_is_one_when_the_goal_holds"),
    Row("`env.sample_goal()`: goal_text, goal_program; `env.set_goal(goal_text, goal_program)`", "same", "goals that have an answer, which is no", f"{_CLEVR}::test_sampled_goals_have_an_answer_and_are_false"),
    Row("`env.answer_question(goal_program)`", "as documented", "", f"{_GOALS}::test_questions_in_words"),
    Row("`env.step(action, goal=goal_program)`", "as documented", "", f"{_GOALS}::test_a_goal_of_a_step_counts_for_that_step_alone"),
    Row("`env.step(action, record_achieved_goal=True)`, `env.get_achieved_goals()`, `env.get_achieved_goal_programs()`", "as documented", "", f"{_GOALS}::test_achieved_goals_are_those_that_became_true"),
]

KEYWORDS = [
    Row("`gym.make`: `action_space`, `render`, `vector_state`, `target_in_obs`", "as documented", "", f"{_EXAMPLES}::test_vector_state"),
    Row("`discretize=False`", "same", "", f"{_WORLD}::test_programs_of_calls_give_what_they_gave_in_the_tool"),
    Row("`render_size`", "same", "(width, height); the space is [height, width, 3] as the picture, which the tool's is not; with `gymnasium` it is (height, width)", f"{_WORLD}::test_pictures_have_the_size_and_the_channels_of_the_tool"),
    Row("`select_and_place`, by default True", "same", "with `gymnasium` and `compat=None` by default False", f"{_WORLD}::test_programs_of_calls_give_what_they_gave_in_the_tool"),
    Row("`max_steps`, by default 250", "same", "with `gymnasium` and `compat=None` by default 500", f"{_WORLD}::test_programs_of_calls_give_what_they_gave_in_the_tool"),
    Row("`size_reward`, by default True", "same", 'as there: what the starting blocks score is paid at the first step, then nothing. For the gain of the build use `size_reward=False`, or `gymnasium.make("IGLUGridworld-v0", compat="iglu2022")`', f"{_WORLD}::test_the_reward_by_size_is_that_of_the_tool"),
    Row("`right_placement_scale`, `wrong_placement_scale`", "same", "without a profile they are `right_scale` and `wrong_scale`", f"{_WORLD}::test_programs_of_calls_give_what_they_gave_in_the_tool"),
    Row("`name`, `fake`", "same", "", f"{_WORLD}::test_modules_of_the_tool"),
    Row("the builders of `iglu_marl.agents` in an environment with a profile", "refused", "an error, for they know this project's colours and camera; make the environment without `compat`", "agents/test_agents.py::test_builders_refuse_what_they_would_misread"),
    Row("CLEVR-Robot: `direct_obs`", "as documented", "`obs_type` says the same", "compat/test_clevr_robot.py::test_names_of_clevr_robot_stand_for_ours"),
    Row("CLEVR-Robot: `terminate_on_success=False`", "as documented", "", f"{_GOALS}::test_without_an_end_a_goal_that_holds_pays_at_each_step"),
    Row("CLEVR-Robot: `maximum_episode_steps`", "as documented", "`max_steps` says the same", "compat/test_clevr_robot.py::test_names_of_clevr_robot_stand_for_ours"),
    Row("CLEVR-Robot: `num_object`", "differs", "1 to 20 things, exactly", f"{_GOALS}::test_as_many_objects_are_placed_as_asked_for"),
    Row("CLEVR-Robot: `variable_scene_content`", "as documented", "", f"{_GOALS}::test_scene_content_can_be_the_same_everywhere"),
    Row("CLEVR-Robot: `systematic_generalization`", "differs", "combinations of colour and shape are kept from training; `env.held_out_goals` has them", f"{_GOALS}::test_systematic_generalization_keeps_combinations_from_training"),
    Row("CLEVR-Robot: `action_type`", "differs", 'the encodings of this project; with "perfect" a cell is acted on directly', f"{_GOALS}::test_acting_on_a_cell_directly"),
    Row("CLEVR-Robot: `env.unwrapped`", "as documented", "", f"{_GOALS}::test_unwrapped_has_the_goal_api"),
    Row("CLEVR-Robot: `compute_reward` as in a GoalEnv", "as documented", "", f"{_GOALS}::test_compute_reward_agrees_with_step"),
    Row("any other keyword of `gym.make`", "refused", "an error with what was perhaps meant", f"{_NAMES}::test_scales_switch_the_reward_by_size_off"),
    Row("`Task(chat, target_grid, last_instruction, starting_grid, full_grid, invariant)` of `gridworld`", "as documented", "", f"{_TASKS}::test_arguments_have_their_order_and_names"),
    Row("`Task(instruction, target_grid, dialog, starting_grid, full_grid, invariant)` of `iglu_datasets`", "as documented", "", f"{_TASKS}::test_arguments_have_their_order_and_names"),
    Row("`Subtasks(dialog, structure_seq)`, `structure_seq`", "as documented", "", f"{_TASKS}::test_sessions"),
    Row("tasks in lists, in `CustomTasks` and in `evaluate`", "as documented", "", f"{_TASKS}::test_tasks_are_taken_wherever_tasks_are"),
    Row("`MultiturnDataset(dataset_version, task_kwargs, force_download)` and the other datasets", "as documented", "further options are those of `iglu_marl.data`, by name", f"{_TASKS}::test_arguments_have_their_order_and_names"),
    Row("iteration over a dataset: structure, session, turn, task", "as documented", "in the order of PartitionKey; the turn of single turns is 1", f"{_TASKS}::test_iteration_gives_four"),
    Row("`gridworld.tasks.Tasks.to_dense`", "as documented", "", f"{_TASKS}::test_to_dense"),
    Row("`gridworld.tasks.task`, `gridworld.env`, `BUILD_ZONE_SIZE`", "as documented", "also `gridworld.core.world`, `.tasks.task_set`, `.data.iglu_dataset`, `.data.cdm_dataset`; the names of `.render`, `.utils`, `.view`, `.wrappers` and `.data.load` say what to use", f"{_WORLD}::test_modules_of_the_tool"),
    Row("`gridworld.data.CDMDataset`", "as documented", "a task for each session, without the top layer; keys such as c10; iteration yields tasks", f"{_TASKS}::test_the_corpus_as_a_dataset"),
    Row("`gridworld.data.SingleTurnIGLUDataset`", "differs", 'a task for each game that was built; `rules="default"` for upstream\'s choice', f"{_TASKS}::test_iteration_gives_four"),
    Row("`set_task(Subtasks)`", "as documented", "", f"{_TASKS}::test_a_session_as_the_task_of_an_environment"),
    Row("`set_task_generator(None)`", "same", "the task of now is played again", f"{_WORLD}::test_programs_of_calls_give_what_they_gave_in_the_tool"),
    Row("attributes of `GridWorld`: `agent`, `world`, `grid`, `max_int`, `step_no`, `starting_grid`, `initial_position`, `task`, …", "same", "read and assigned as there; `agent.inventory` is an array; an attribute that is missing says what to use", f"{_WORLD}::test_what_is_assigned_acts"),
    Row("`env.render()`", "same", "uint8 [height, width, 4], also without `render=True`; three channels for Gymnasium's wrappers and elsewhere", f"{_WORLD}::test_pictures_have_the_size_and_the_channels_of_the_tool"),
    Row("`env.tasks.current`, `env.tasks.preset`, `env.task.task_monitor.max_int`, `env.action_space.no_op()`, `should_reset` of 2021", "as documented", "", f"{_NAMES}::test_what_programs_of_2021_read"),
    Row("`initialize_world(starting_grid, initial_position)`", "same", "at once, until `deinitialize_world()`; any angles", f"{_WORLD}::test_programs_of_calls_give_what_they_gave_in_the_tool"),
    Row("`env.task.chat`, `env.task.last_instruction`", "as documented", "", f"{_TASKS}::test_attributes_of_a_task"),
    Row("a task of a difference of grids, with negative ids", "differs", "played by `GridWorld` as in the tool; other environments leave out what is to be taken away", f"{_TASKS}::test_differences_are_scored_whole_and_played_without_what_goes"),
]
# fmt: on

SOURCES: dict[str, tuple[str, list[Row]]] = {
    "gridworld": ("gridworld-readme.txt", GRIDWORLD),
    "iglu-datasets": ("iglu-datasets-readme.txt", IGLU_DATASETS),
    "iglu-envs": ("iglu-envs.txt", SILENT_BUILDER),
    "iglu-tasks": ("iglu-tasks.txt", IGLU_TASKS),
    "clevr-robot": ("clevr-robot-readme.txt", CLEVR_ROBOT),
}
