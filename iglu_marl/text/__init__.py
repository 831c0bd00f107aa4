"""The game as text, for training language models: chats, replies, and a reward for each reply.

>>> from iglu_marl.text import TextGame
>>> game = TextGame(role="builder", partner="scripted")
>>> messages = game.reset(seed=0)
>>> [message["role"] for message in messages]
['system', 'user']
"""

from iglu_marl.text.batch import play_async
from iglu_marl.text.export import message_reward, order_reward, rewards
from iglu_marl.text.game import TextGame

__all__ = [
    "TextGame",
    "message_reward",
    "order_reward",
    "play_async",
    "rewards",
]
