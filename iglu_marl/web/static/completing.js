// What a builder that reads by rules understands: sentences before the first message, completions while one types.
import {$, ask, make} from "./common.js";

const MOST = 6;  // completions at a time
// A word of such a row stands for each of them: with “Place a red block” goes “put a yellow block”.
const ALIKE = [
  "red blue green yellow orange purple", "two three four five six seven eight nine 2 3 4 5 6 7 8 9", "a one 1", "place put add set",
].map((row) => row.split(" "));
const alike = (word, other) => word === other || ALIKE.some((row) => row.includes(word) && row.includes(other));

/** A text with the rest of an example that begins alike; "" if none does, or nothing is left. */
export function completed(text, example) {
  const said = text.toLowerCase().split(/\s+/), words = example.split(" "), last = said.length - 1;
  const next = (words[last] || "").toLowerCase();
  const begun = next.startsWith(said[last]);
  const same = said.slice(0, last).every((word, k) => alike(word, words[k].toLowerCase()));
  if (!next || !same || !(begun || alike(said[last], next))) return "";
  const rest = [begun ? words[last].slice(said[last].length) : "", ...words.slice(last + 1)].join(" ");
  return rest && text + rest;
}

/** The list below the dialogue; its field is a combobox. taken: is called when a sentence was put into the field. */
export class Completing {
  constructor(taken) {
    Object.assign(this, {taken, sentences: [], active: -1, spoken: false});
    const field = $("words"), list = $("sentences");
    list.dataset.title = list.ariaLabel = "The builder reads sentences like these:";
    const facts = {role: "combobox", "aria-autocomplete": "list", "aria-controls": "sentences", "aria-expanded": "false"};
    for (const [name, value] of Object.entries(facts)) field.setAttribute(name, value);
    field.addEventListener("input", () => this.show());
    list.addEventListener("pointerdown", (event) => event.preventDefault());  // the field keeps the focus
    list.addEventListener("click", (event) => { if (event.target.role === "option") this.take(event.target.textContent); });
    ask("/api/help").then(({instructions}) => { this.sentences = instructions; this.show(); }).catch(() => {});
  }
  show() {
    const text = $("words").value.trimStart(), completions = this.sentences.map((one) => completed(text, one)).filter(Boolean);
    this.list(text ? completions.slice(0, MOST) : this.spoken ? [] : this.sentences);
  }
  said() { this.spoken = true; this.list([]); }
  list(sentences) {
    $("sentences").replaceChildren(...sentences.map((textContent, k) => make("li", {role: "option", id: `sentence${k}`, textContent})));
    $("sentences").hidden = !sentences.length;
    $("words").setAttribute("aria-expanded", String(sentences.length > 0));
    this.choose(-1);
  }
  choose(number) {
    const options = [...$("sentences").children];
    this.active = number;
    options.forEach((option, k) => { option.ariaSelected = String(k === number); });
    if (number < 0) { $("words").removeAttribute("aria-activedescendant"); return; }
    $("words").setAttribute("aria-activedescendant", options[number].id);
    options[number].scrollIntoView({block: "nearest"});
  }
  take(sentence) {
    $("words").value = sentence;
    this.list([]);
    $("words").focus();
    this.taken();
  }
  /** Handle a key of the field; return whether it was meant for the list. */
  press(key) {
    const options = $("sentences").children, count = options.length + 1;
    if (!options.length) return false;
    if (key === "ArrowDown" || key === "ArrowUp") this.choose((this.active + 1 + (key === "ArrowDown" ? 1 : count - 1)) % count - 1);
    else if (key === "Escape") this.list([]);
    else if (key === "Enter" && this.active >= 0) this.take(options[this.active].textContent);
    else return false;
    return true;
  }
}
