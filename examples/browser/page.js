import { Tokenizer } from "./node_modules/@huggingface/tokenizers/dist/tokenizers.min.mjs";
import * as ort from "./node_modules/onnxruntime-web/dist/ort.wasm.bundle.min.mjs";
import { OnnxTagger } from "./tagger.js";

const [text, status, tagged, entities, file] = ["text", "status", "tagged", "entities", "file"].map((id) =>
  document.getElementById(id),
);
// Without cross-origin isolation, a page has only one thread.
ort.env.wasm.numThreads = 1;

let tagger;
let isBusy = false;
let isChanged = false;

text.addEventListener("input", update);
file.addEventListener("change", async () => {
  const [chosen] = file.files;
  if (chosen) await open(chosen.name, () => chosen.arrayBuffer());
});
await open("tagger.onnx", async () => {
  const response = await fetch("tagger.onnx");
  if (!response.ok) throw new Error("there is no tagger.onnx beside this page; choose a file below");
  return response.arrayBuffer();
});

/** Loads a tagger and tags the text. */
async function open(name, read) {
  status.textContent = `Loading ${name} …`;
  try {
    const bytes = await read();
    tagger = await OnnxTagger.load(bytes, ort, Tokenizer);
    // For tests and for the console.
    globalThis.tagger = tagger;
    status.textContent = `${name}, ${(bytes.byteLength / 1e6).toFixed(1)} MB`;
    await update();
  } catch (error) {
    tagger = undefined;
    show({ text: "", entities: [], labels: [], tokens: [] });
    status.textContent = `${name}: ${error.message}`;
  }
}

/** Tags the user's text, and again if it has changed meanwhile. */
async function update() {
  isChanged = true;
  if (isBusy || !tagger) return;
  isBusy = true;
  try {
    while (isChanged) {
      isChanged = false;
      const started = performance.now();
      show(await tagger.tag(text.value));
      status.dataset.milliseconds = (performance.now() - started).toFixed(1);
    }
  } catch (error) {
    status.textContent = error.message;
  } finally {
    isBusy = false;
  }
}

function show(result) {
  const parts = [];
  let position = 0;
  for (const { label, start, end, probability } of pieces(marks(result))) {
    parts.push(result.text.slice(position, start), mark(result.text.slice(start, end), label, probability));
    position = end;
  }
  tagged.replaceChildren(...parts, result.text.slice(position));
  entities.tBodies[0].replaceChildren(...result.entities.map(row));
  entities.hidden = !result.entities.length;
}

/** The pieces between the borders of marks, which may overlap, with the labels of all over each piece. */
function pieces(marks) {
  const borders = [...new Set(marks.flatMap(({ start, end }) => [start, end]))].sort((a, b) => a - b);
  return borders.slice(1).flatMap((end, number) => {
    const start = borders[number];
    const over = marks.filter((each) => each.start <= start && end <= each.end);
    if (!over.length) return [];
    const label = over.map((each) => each.label).join(", ");
    return [{ label, start, end, probability: over.length === 1 ? over[0].probability : null }];
  });
}

/** What to mark in the text: entities or, if tokens may have several labels, tokens. */
function marks({ text, entities, labels, tokens }) {
  let position = 0;
  const ofTokens = labels.map((own, token) => {
    const start = text.indexOf(tokens[token], position);
    position = start + tokens[token].length;
    return { label: own.join(", "), start, end: position, probability: null };
  });
  return [...entities, ...ofTokens.filter(({ label }) => label)];
}

function mark(text, label, probability) {
  const small = document.createElement("small");
  // Beside Arabic or Hebrew, the note keeps its own order.
  small.dir = "ltr";
  small.textContent = probability === null ? label : `${label} ${spelt(probability)}`;
  const element = document.createElement("mark");
  element.append(text, small);
  // A hue for each label; steps of 137 degrees keep neighbours distinct.
  const index = tagger.labels.indexOf(label.split(", ")[0]);
  element.style.setProperty("--hue", (index * 137) % 360);
  return element;
}

/** A probability in percent; 0 and 100 are shown only if exact. */
function spelt(probability) {
  const rounded = Math.round(100 * probability);
  if (rounded === 0 && probability > 0) return "<1 %";
  return rounded === 100 && probability < 1 ? ">99 %" : `${rounded} %`;
}

function row({ text, label, probability }) {
  const cells = [text, label, probability === null ? "" : spelt(probability)].map((value) => {
    const cell = document.createElement("td");
    cell.textContent = value;
    cell.dir = "auto";
    return cell;
  });
  cells[2].className = "number";
  const element = document.createElement("tr");
  element.append(...cells);
  return element;
}
