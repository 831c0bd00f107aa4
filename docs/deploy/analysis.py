"""Notebook in the format of Jupytext: a summary of the tables of `iglu-marl study export`."""

# %% [markdown]
# Who, when, what, how long, why it ended, and how much was said and built, by condition
# %%
import pandas as pd

people = pd.read_csv("words-study/participants.csv")
games = pd.read_csv("words-study/games.csv").query("practice == 0")
said = pd.read_csv("words-study/messages.csv").query("practice == 0 and code.notna()")
words = said["text"].str.removeprefix("'").str.split().str.len()
said = said.assign(words=words).groupby(["code", "recording"], as_index=False)["words"].sum()
games = games.merge(said, how="left", on=["code", "recording"]).fillna({"words": 0})
games["minutes"] = (games["ended"] - games["begun"]) / 60
people["came"] = pd.to_datetime(people["came"], unit="s")
print(people[["code", "condition", "stage", "came"]])
print(games[["code", "task", "role", "partner", "minutes", "why", "words", "right", "blocks"]])
ends = games.groupby(["condition", "why"]).size().unstack(fill_value=0)
columns = {"games": ("task", "size"), "minutes": ("minutes", "median"), "words": ("words", "sum")}
summary = games.groupby("condition").agg(**columns, right=("right", "sum"))
print(ends, summary, sep="\n")
summary.plot.bar(y=["words", "right"])  # with Matplotlib
