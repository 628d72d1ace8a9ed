// Runs a file from `allennlp export`: the counterpart of the Python package `tagger_onnx`.
// It works in browsers and in Node; pass it `onnxruntime-web`. Offsets count UTF-16 units, as usual in
// JavaScript.

import { sentenceLengths } from "./sentences.js";
import { splitterOf } from "./splitter.js";
import { wordForms, wordHash, wordShape } from "./words.js";

const FORMAT = 4;
const UNKNOWN = 1n;

/** Functions that compute the graph's inputs, by kind of indexer; each gets distinct words and sentences. */
const KINDS = {
  ids(name, description) {
    return ids(name, description, (word) => (description.lowercase ? word.toLowerCase() : word));
  },

  shapes(name, description) {
    return ids(name, description, wordShape);
  },

  characters(name, description) {
    const indexOf = indices(description.vocabulary);
    return ({ words }, tensor) => {
      const texts = words.map((word) => {
        const text = [...word].slice(0, description.max_length ?? undefined).join("");
        return [...(description.lowercase ? text.toLowerCase() : text)];
      });
      const width = Math.max(description.min_length, ...texts.map((text) => text.length));
      const rows = texts.map((text) => padded(text.map(indexOf), width, 0n));
      return { [`${name}_characters`]: tensor(rows.flat(), [words.length, width]) };
    };
  },

  forms(name, description) {
    const indexOf = indices(description.vocabulary);
    return ({ words }, tensor) => {
      const forms = words.flatMap((word) => wordForms(word, description.lowercase));
      const shape = [words.length, 3];
      return {
        [`${name}_indices`]: tensor(forms.map(indexOf), shape),
        [`${name}_hashes`]: tensor(forms.map(wordHash), shape),
      };
    };
  },

  pieces(name, description, Tokenizer) {
    if (!Tokenizer) {
      throw new Error("this tagger has a transformer; give `Tokenizer` of @huggingface/tokenizers");
    }
    const rules = JSON.parse(description.tokenizer);
    const tokenizer = new Tokenizer({ ...rules, truncation: null, padding: null }, {});
    const { start, end, padding, unknown = [], max_pieces: most } = description;
    return ({ words, rows, longest }, tensor) => {
      const piecesOf = words.map((word) => {
        const { ids } = tokenizer.encode(word, { add_special_tokens: false });
        return ids.length ? ids : unknown;
      });
      const offsets = [];
      const sentences = rows.map((row) => {
        const pieces = [...start];
        for (let token = 0; token < longest; token++) {
          const own = token < row.length ? piecesOf[row[token]] : [];
          offsets.push(...(own.length ? [pieces.length, pieces.length + own.length - 1] : [-1, -1]));
          pieces.push(...own);
        }
        return [...pieces, ...end];
      });
      const width = Math.max(...sentences.map((sentence) => sentence.length));
      if (most && width > most) {
        throw new RangeError(
          `a text has ${width} word pieces, but the transformer takes at most ${most}; split the text`,
        );
      }
      const all = sentences.flatMap((sentence) => padded(sentence, width, padding));
      const lengths = sentences.map((sentence) => sentence.length);
      return {
        [`${name}_pieces`]: tensor(all.map(BigInt), [rows.length, width]),
        [`${name}_num_pieces`]: tensor(lengths.map(BigInt), [rows.length]),
        [`${name}_offsets`]: tensor(offsets.map(BigInt), [rows.length, longest, 2]),
      };
    };
  },
};

/** A tagger in one ONNX file. */
export class OnnxTagger {
  /**
   * Loads a tagger.
   * @param {ArrayBuffer} file - The bytes of a file that `allennlp export` wrote.
   * @param {object} ort - The module `onnxruntime-web`.
   * @param {Function} [Tokenizer] - That of `@huggingface/tokenizers`, which transformers need.
   */
  static async load(file, ort, Tokenizer) {
    const text = metadata(new Uint8Array(file)).tagger;
    const description = JSON.parse(text ?? "{}");
    if (description.format !== FORMAT) {
      throw new Error(`expected a file of \`allennlp export\` with format ${FORMAT}`);
    }
    const session = await ort.InferenceSession.create(file, { executionProviders: ["wasm"] });
    return new OnnxTagger(session, description, ort, Tokenizer);
  }

  constructor(session, description, ort, Tokenizer) {
    this.tags = description.tags;
    this.session = session;
    this.labelsOfTags = description.labels_of_tags;
    // How many rows of the graph's outputs are of a sentence, if entities of labels may overlap.
    this.numChains = description.num_chains ?? 1;
    /** The labels that the tagger knows, sorted. */
    this.labels = [...new Set(this.labelsOfTags.filter((label) => label !== null))].sort();
    this.splitter = splitterOf(description.splitting);
    this.maxSentenceTokens = description.max_sentence_tokens;
    // This page does not ask about missed entities.
    const none = new ort.Tensor("bool", new Uint8Array(this.labels.length), [this.labels.length]);
    this.leakLabels = session.inputNames.includes("leak_labels") ? { leak_labels: none } : {};
    this.tensor = (values, shape) => new ort.Tensor("int64", BigInt64Array.from(values), shape);
    this.indexers = Object.entries(description.indexers).map(([name, each]) =>
      KINDS[each.kind](name, each, Tokenizer),
    );
  }

  /**
   * Tags a text.
   * @param {string} text - The text.
   * @returns {Promise<object>} The text; its `tokens`; `tags`, or `labels` if tokens may have several;
   *     `entities` with `label`, `text`, `start`, `end`, `first`, `last` and `probability`; and
   *     `probabilities`, for each token an array in the order of `this.tags`. With a chain for each
   *     label, entities may overlap, `tags` are joined by `|`, and the probability of `O` is NaN.
   */
  async tag(text) {
    const found = this.splitter.split(text);
    const tokens = found.map((token) => token.text);
    const result = { text, tokens, tags: [], labels: [], entities: [], probabilities: [] };
    const starts = found.map((token) => token.start);
    let first = 0;
    for (const length of sentenceLengths(text, starts, this.maxSentenceTokens)) {
      const sentence = await this.tagSentence(text, found.slice(first, first + length));
      const entities = sentence.entities.map((entity) => (
        { ...entity, first: entity.first + first, last: entity.last + first }
      ));
      result.tags.push(...sentence.tags);
      result.labels.push(...sentence.labels);
      result.probabilities.push(...sentence.probabilities);
      result.entities.push(...entities);
      first += length;
    }
    return result;
  }

  /** Like `tag`, for one or more tokens of a sentence of the text. */
  async tagSentence(text, found) {
    const tokens = found.map((token) => token.text);
    const outputs = await this.run([tokens]);
    const ofChains = Array.from({ length: this.numChains }, (_, chain) => {
      const own = Object.entries(outputs).map(([name, { data }]) => {
        const size = data.length / this.numChains;
        return [name, data.slice(chain * size, (chain + 1) * size)];
      });
      return this.read(text, found, Object.fromEntries(own));
    });
    return this.numChains === 1 ? ofChains[0] : this.merged(ofChains);
  }

  /** What the outputs of one row of the graph say of a sentence. */
  read(text, found, outputs) {
    const tokens = found.map((token) => token.text);
    const result = { tags: [], labels: [], entities: [], probabilities: [] };
    const numTags = this.tags.length;
    const rowsOf = (values) =>
      tokens.map((_, token) => Array.from(values.slice(token * numTags, (token + 1) * numTags)));
    result.probabilities = rowsOf(outputs.marginals);
    if (outputs.labels) {
      const has = rowsOf(outputs.labels);
      result.labels = has.map((row) => this.tags.filter((_, tag) => row[tag]));
      return result;
    }
    const tags = Array.from(outputs.tags, Number);
    result.tags = tags.map((tag) => this.tags[tag]);
    Array.from(outputs.entity_lasts ?? [], Number).forEach((last, first) => {
      if (last < 0) return;
      const [start, end] = [found[first].start, found[last].start + tokens[last].length];
      const probability = outputs.entity_probabilities?.[first] ?? null;
      const label = this.labelsOfTags[tags[first]] ?? "";
      result.entities.push({ label, text: text.slice(start, end), start, end, first, last, probability });
    });
    return result;
  }

  /** What the chains of all labels say of a sentence. */
  merged(ofChains) {
    const entities = ofChains.flatMap((each) => each.entities);
    return {
      tags: ofChains[0].tags.map((_, token) => {
        const own = ofChains.map((each) => each.tags[token]).filter((tag) => tag !== "O");
        return own.join("|") || "O";
      }),
      labels: [],
      entities: entities.sort((one, other) => one.first - other.first || other.last - one.last),
      // Under the chain of a label, the tags of all others have probability 0.
      probabilities: ofChains[0].probabilities.map((row, token) =>
        row.map((_, tag) => {
          if (this.tags[tag] === "O") return NaN;
          return ofChains.reduce((sum, each) => sum + each.probabilities[token][tag], 0);
        }),
      ),
    };
  }

  /** Runs the graph on sentences, arrays of at least one token each; returns the outputs by name. */
  async run(sentences) {
    const places = new Map();
    const rows = sentences.map((sentence) =>
      sentence.map((word) => {
        if (!places.has(word)) places.set(word, places.size);
        return places.get(word);
      }),
    );
    const longest = Math.max(...rows.map((row) => row.length));
    const batch = { words: [...places.keys()], rows, longest };
    const all = rows.flatMap((row) => padded(row, longest, 0));
    const inputs = {
      words: this.tensor(all.map(BigInt), [rows.length, longest]),
      lengths: this.tensor(rows.map((row) => BigInt(row.length)), [rows.length]),
      ...this.leakLabels,
    };
    for (const indexer of this.indexers) Object.assign(inputs, indexer(batch, this.tensor));
    return this.session.run(inputs);
  }
}

/** The metadata of an ONNX file, by key. It is a protocol buffer; field 14 holds pairs of strings. */
export function metadata(bytes) {
  const found = {};
  for (const [field, value] of fields(bytes)) {
    if (field !== 14) continue;
    const pair = new Map(fields(value));
    const [key, text] = [1, 2].map((each) => new TextDecoder().decode(pair.get(each)));
    found[key] = text;
  }
  return found;
}

/** Yields the number and the value of each field of a protocol buffer. */
function* fields(bytes) {
  let position = 0;
  const number = () => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[position++];
      value += (byte & 127) * factor;
      if (!(byte & 128)) return value;
    }
  };
  while (position < bytes.length) {
    const key = number();
    const kind = key % 8;
    if (kind === 0) {
      yield [(key - kind) / 8, number()];
      continue;
    }
    const length = { 1: 8, 2: undefined, 5: 4 }[kind] ?? number();
    if (position + length > bytes.length || ![1, 2, 5].includes(kind)) {
      throw new Error("the file is no ONNX file, or it is cut short");
    }
    yield [(key - kind) / 8, bytes.subarray(position, position + length)];
    position += length;
  }
}

function ids(name, description, textOf) {
  const indexOf = indices(description.vocabulary);
  return ({ words }, tensor) => {
    const found = words.map((word) => indexOf(textOf(word)));
    return { [`${name}_ids`]: tensor(found, [words.length]) };
  };
}

function indices(vocabulary) {
  const places = new Map(vocabulary.map((text, index) => [text, BigInt(index)]));
  return (text) => places.get(text) ?? UNKNOWN;
}

function padded(values, length, filler) {
  return [...values, ...Array(length - values.length).fill(filler)];
}
