// Functions of all pages: elements, requests, names of agents.
export const $ = (id) => document.getElementById(id);

/** An element with properties and children; strings become text nodes. */
export function make(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** The server's answer as JSON; throws its error message. */
export async function ask(path, body = null) {
  const options = body && {method: "POST", headers: {"content-type": "application/json"}, body: JSON.stringify(body)};
  const answer = await fetch(path, options || {});
  const content = await answer.json().catch(() => ({error: "The server did not answer."}));
  if (!answer.ok) throw new Error(content.error || "The server did not answer.");
  return content;
}

export const PARTNERS = {
  scripted: ["Standard", "explains block by block and shape by shape; follows instructions, and asks back"],
  vague: ["Vague", "leaves things out: ask it"],
  hasty: ["Hasty", "never asks, guesses, and slips now and then"],
  llm: ["Language model", "chosen by the server"],
  "scripted-llm": ["Language model and planner", "a language model reads, the standard builder builds"],
  learned: ["Learned", "a model trained on people's games"],
  random: ["Random", "says or does anything"],
};
export const title = (name) => name.replace(/[-_]/g, " ").replace(/^./, (letter) => letter.toUpperCase());
/** An agent's name for people. */
export const nameOf = (name) =>
  name.startsWith("llm:") ? `Language model ${name.slice(4)}` : `${(PARTNERS[name] || [title(name)])[0]} agent`;
export const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
