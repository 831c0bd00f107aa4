// What the pages share: elements, requests, words for names.
export const $ = (id) => document.getElementById(id);

/** An element with properties and children; texts are put in as texts. */
export function make(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** What the server answers, as JSON; throws its words when it refuses. */
export async function ask(path, body = null) {
  const options = body && {method: "POST", headers: {"content-type": "application/json"}, body: JSON.stringify(body)};
  const answer = await fetch(path, options || {});
  const told = await answer.json().catch(() => ({error: "The server did not answer."}));
  if (!answer.ok) throw new Error(told.error || "The server did not answer.");
  return told;
}

export const PARTNERS = {
  scripted: ["Standard", "explains block by block and shape by shape; builds what it is told, and asks back"],
  precise: ["Precise", "one block at a time, always in full"],
  terse: ["Terse", "the fewest words that will do"],
  talkative: ["Talkative", "greets, praises, says it in other words"],
  vague: ["Vague", "leaves things out: ask it"],
  mistaken: ["Mistaken", "now and then says something wrong, and corrects itself"],
  careful: ["Careful", "does what it fully understands, and says what it lacks"],
  hasty: ["Hasty", "never asks, guesses, and slips now and then"],
  forgetful: ["Forgetful", "sometimes forgets what it was told"],
  asking: ["Asking", "asks back before it begins"],
  llm: ["Language model", "as the server has it"],
  learned: ["Learned", "a model trained on people's games"],
  random: ["Random", "says or does anything"],
};
export const title = (name) => name.replace(/[-_]/g, " ").replace(/^./, (letter) => letter.toUpperCase());
/** An agent's name, as people read it. */
export const nameOf = (name) => name.startsWith("llm:") ? `Language model ${name.slice(4)}` : `${(PARTNERS[name] || [title(name)])[0]} agent`;
export const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
