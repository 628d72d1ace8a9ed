
"use strict";
const find = (id) => document.getElementById(id);
const text = find("text"), result = find("result"), problem = find("problem");
const dials = new Map();
/* If there are more dials than this, only those of labels in the text and those already moved are shown. */
const mostOpen = 8, open = new Set();
let colours = new Map(), mostTexts = Infinity, isWaiting = false, isOutdated = false, timer;
let isNewText = true, showsAll = false;

const shownBias = (bias) => (bias === 0 ? "0" : `${bias > 0 ? "+" : "−"}${Math.abs(bias).toFixed(2)}`);
/* Like `spell_probability` of tagger_texts.display: 0 or 100 only if it is exactly that. */
const shownProbability = (number) => {
  const rounded = Math.round(100 * number);
  if (rounded === 0 && number > 0) return "<1 %";
  return rounded === 100 && number < 1 ? ">99 %" : `${rounded} %`;
};
const element = (name, content, kind) => {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  made.append(...[content].flat());
  return made;
};
const plural = (number, word, words) => `${number} ${number === 1 ? word : words}`;

/* Lists the labels, with a dial for each that supports a bias. */
async function start() {
  const answer = await fetch("labels");
  const { labels, promises, curves_data: data, limits } = await answer.json();
  mostTexts = limits.texts;
  find("num-labels").textContent = plural(labels.length, "label", "labels");
  colours = new Map(labels.map(({ name }, index) => [name, index % {{ num_colours }}]));
  labels.filter(({ bias }) => bias !== null).forEach(addDial);
  for (const promise of promises) addPromise(promise);
  find("dials").hidden = dials.size === 0;
  find("find").hidden = find("show-all").hidden = dials.size <= mostOpen;
  fold();
  find("legend").hidden = data === null;
  find("data").textContent = data;
  if (text.value) tagNow();
}

function fold() {
  const wanted = find("filter").value.trim().toLowerCase();
  let number = 0;
  for (const { dial, name } of dials.values()) {
    const isShown = wanted ? name.toLowerCase().includes(wanted) : showsAll || dials.size <= mostOpen || open.has(name);
    dial.hidden = !isShown;
    number += isShown;
  }
  find("show-all").textContent = showsAll ? "Show fewer" : `Show all ${dials.size} labels`;
  find("show-all").setAttribute("aria-expanded", showsAll);
  find("none").hidden = number > 0;
  find("none").textContent = wanted ? "No label has this in its name." : "The labels that are found in the text appear here.";
}

function addDial({ name, bias, curve }, index) {
  const dial = find("dial").content.cloneNode(true).firstElementChild;
  const slider = dial.querySelector("input");
  slider.id = `dial-${index}`;
  // A model's own bias may be out of the usual range.
  slider.min = Math.min(slider.min, Math.floor(bias));
  slider.max = Math.max(slider.max, Math.ceil(bias));
  slider.value = bias;
  dial.classList.add(`c${colours.get(name)}`);
  dial.dataset.label = name;
  dial.querySelector("label").htmlFor = slider.id;
  dial.querySelector(".name").textContent = name;
  const evidence = dial.querySelector(".evidence");
  evidence.id = `evidence-${index}`;
  slider.setAttribute("aria-describedby", evidence.id);
  const reset = dial.querySelector(".reset");
  reset.setAttribute("aria-label", `Reset ${name}`);
  const entry = { dial, slider, reset, name, bias, curve, value: bias };
  dials.set(name, entry);
  if (curve) drawCurve(entry);
  slider.addEventListener("input", () => turn(entry, slider.valueAsNumber));
  reset.addEventListener("click", () => turn(entry, bias));
  find("dial-list").append(dial);
  show(entry);
}

/* The promises about a label, next to its dial. */
function addPromise({ labels, text, date }) {
  for (const label of labels) {
    const entry = dials.get(label);
    if (!entry) continue;
    open.add(label);
    entry.dial.querySelector(".promises").append(element("li", `Promised: ${text}, ${date}`));
  }
}

function turn(entry, value) {
  entry.value = value;
  open.add(entry.name);
  if (entry.slider.valueAsNumber !== value) entry.slider.value = value;
  show(entry);
  const biases = Object.fromEntries(moved());
  find("reset-all").disabled = moved().length === 0;
  find("dial-list").classList.toggle("void", moved().length > 0);
  find("void").hidden = moved().length === 0 || !document.querySelector(".promises li");
  find("settings").hidden = moved().length === 0;
  find("setting").textContent = `"decode_bias": ${JSON.stringify(biases)}`;
  tagSoon(30);
}

const moved = () => [...dials.values()].filter(({ value, bias }) => value !== bias).map(({ name, value }) => [name, value]);

function show({ dial, slider, reset, curve, value, bias }) {
  const spelt = shownBias(value);
  dial.querySelector("output").textContent = spelt;
  dial.classList.toggle("moved", value !== bias);
  reset.disabled = value === bias;
  slider.setAttribute("aria-valuetext", spelt);
  if (!curve) return;
  const [precision, recall] = [curve.precisions, curve.recalls].map((values) => at(curve.biases, values, value));
  const spell = (number) => (number === null ? "–" : `${(100 * number).toFixed(1)} %`);
  dial.querySelector(".evidence").textContent = `precision ${spell(precision)}, recall ${spell(recall)} (${curve.num_gold} gold)`;
  const x = place(slider, value);
  dial.querySelector(".here").setAttribute("d", `M${x} 0V40`);
}

const place = ({ min, max }, value) => (100 * (value - min)) / (max - min);

/* Interpolates linearly between the two nearest biases that were tried. */
function at(biases, values, bias) {
  let right = biases.findIndex((each) => each >= bias);
  if (right < 0) right = biases.length - 1;
  if (right === 0 || biases[right] === bias || bias > biases[right]) return values[right];
  const left = right - 1;
  if (values[left] === null || values[right] === null) return values[right];
  const share = (bias - biases[left]) / (biases[right] - biases[left]);
  return values[left] + share * (values[right] - values[left]);
}

function drawCurve({ dial, slider, name, curve }) {
  const svg = dial.querySelector("svg");
  svg.removeAttribute("hidden");
  svg.setAttribute("aria-label", `Precision and recall of ${name} by the place of its dial`);
  for (const [kind, values] of [["precision", curve.precisions], ["recall", curve.recalls]]) {
    let path = "";
    curve.biases.forEach((bias, i) => {
      if (values[i] === null) return;
      const command = path && values[i - 1] !== null ? "L" : "M";
      path += `${command}${place(slider, bias).toFixed(2)} ${(39 - 38 * values[i]).toFixed(2)}`;
    });
    svg.querySelector(`.${kind}`).setAttribute("d", path);
  }
}

/* Sends one request at a time; later changes are sent when it is done. */
function tagSoon(milliseconds) {
  clearTimeout(timer);
  timer = setTimeout(tagNow, milliseconds);
}

async function tagNow() {
  if (isWaiting) {
    isOutdated = true;
    return;
  }
  isWaiting = true;
  try {
    do {
      isOutdated = false;
      await tagOnce();
    } while (isOutdated);
  } finally {
    isWaiting = false;
  }
}

async function tagOnce() {
  const lines = text.value.split("\n").filter((line) => line.trim());
  try {
    const started = performance.now();
    // What exceeds the limits of one request is sent in the next.
    const results = [];
    for (let i = 0; i < lines.length; i += mostTexts) {
      results.push(...(await tagLines(lines.slice(i, i + mostTexts))));
    }
    problem.hidden = true;
    showResults(results, Math.round(performance.now() - started));
  } catch (error) {
    problem.textContent = error instanceof TypeError ? "The service does not answer." : error.message;
    problem.hidden = false;
  }
}

async function tagLines(inputs) {
  const answer = await fetch("tag", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ inputs: inputs.map((each) => each.toWellFormed?.() ?? each), decode_bias: Object.fromEntries(moved()) }),
  });
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.error.message);
  return content.results;
}

function showResults(results, milliseconds) {
  const counts = new Map();
  const count = (label) => counts.set(label, (counts.get(label) ?? 0) + 1);
  const shownLines = results.map((each) => element("p", lineOf(each, count), "line"));
  for (const line of shownLines) line.dir = "auto";
  if (shownLines.length === 0) shownLines.push(element("p", "They appear here, each with its label and its probability.", "muted"));
  result.replaceChildren(...shownLines);
  const total = [...counts.values()].reduce((a, b) => a + b, 0);
  const kind = results.some(({ entities }) => entities.length) || total === 0 ? ["entity", "entities"] : ["label", "labels"];
  find("status").textContent = results.length ? `${plural(total, ...kind)} in ${plural(results.length, "line", "lines")}, ${milliseconds} ms` : "";
  // Moving a dial can remove its label from the text; the dial stays visible.
  if (isNewText) open.clear();
  isNewText = false;
  for (const { dial, name, value, bias } of dials.values()) {
    if (counts.has(name) || value !== bias) open.add(name);
    dial.querySelector(".count").textContent = counts.has(name) ? `× ${counts.get(name)}` : "";
  }
  fold();
}

function lineOf({ text, tokens, tags, labels, entities }, count) {
  const mark = (content, label, probability, isWhole = true) => {
    if (!isWhole) return element("mark", [content], `c${colours.get(label) ?? 0}`);
    count(label);
    const name = element("b", label), note = element("small", [" ", name]);
    // Beside Arabic or Hebrew, the note keeps its own order.
    [note.dir, name.dir] = ["ltr", "auto"];
    if (probability !== null) note.append(` ${shownProbability(probability)}`);
    return element("mark", [content, note], `c${colours.get(label) ?? 0}`);
  };
  if (entities.length === 0) {
    // Labels of tokens; empty if the tags spell entities and none was found.
    const named = tokens.map((_, i) => (labels.length ? labels[i] : tags[i] === "O" ? [] : [tags[i]]));
    if (!named.some((each) => each.length)) return [text];
    return tokens.flatMap((token, i) => {
      const marked = named[i].reduce((inner, label) => mark(inner, label, null), token);
      return [marked, " "];
    });
  }
  // Offsets count code points, like strings in Python.
  const characters = Array.from(text);
  const parts = [];
  let position = 0;
  // Entities may overlap: each piece between two borders is marked for all that it lies in, the last of an entity with its name.
  const borders = new Set(entities.flatMap(({ start, end }) => [start, end]));
  for (const border of [...borders].filter((each) => each > 0).sort((a, b) => a - b)) {
    const inside = entities.filter(({ start, end }) => start <= position && border <= end);
    const piece = characters.slice(position, border).join("");
    parts.push(inside.reduceRight((inner, { label, end, probability }) => mark(inner, label, probability, end === border), piece));
    position = border;
  }
  return [...parts, characters.slice(position).join("")];
}

text.addEventListener("input", () => {
  isNewText = true;
  tagSoon(120);
});
find("reset-all").addEventListener("click", () => dials.forEach((entry) => entry.value !== entry.bias && turn(entry, entry.bias)));
find("filter").addEventListener("input", fold);
find("show-all").addEventListener("click", () => {
  showsAll = !showsAll;
  fold();
});
start().catch(() => {
  problem.textContent = "The service does not answer; reload the page when it runs.";
  problem.hidden = false;
});
