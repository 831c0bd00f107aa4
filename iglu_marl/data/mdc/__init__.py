"""The Minecraft Dialogue Corpus: sessions with timelines, tasks, and the actions of its builders."""
