// Splits long texts into sentences by rule: the counterpart of `tagger_texts/sentences.py`, which explains the rules.

// Python's blanks and line ends.
const BLANK = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const LINE = /[^\n-\r\x1c-\x1e\x85\u2028\u2029]*(?:\r\n|[\n-\r\x1c-\x1e\x85\u2028\u2029]|$)/gu;
const AT_END = new RegExp(`[${BLANK}]+$`, "u");
const FIRST_WORD = new RegExp(`[^${BLANK}]+`, "u");
const BLANKS_IN_LINE = BLANK.replace("\\t-\\r", "\\t\\v-\\r");
const BLANK_LINES = new RegExp(`\\n[${BLANKS_IN_LINE}]*(?:\\n[${BLANKS_IN_LINE}]*)+`, "gu");
const FULL_STOPS = "。！？｡．।॥།။។៕";
const END = new RegExp(
  `[${FULL_STOPS}]+["'»”’)\\]\uff09\u300d\u300f]*[${BLANK}]*|` +
    `(?<![.!?…؟])[.!?…؟]+["'»”’)\\]]*[${BLANK}]+`,
  "gu",
);
const ABBREVIATION = /(?<!\p{L})\p{L}{1,3}$/u;
const IS_LOWER = /^\p{Lowercase}/u;
const NARROWEST = 50;

/** Returns the number of tokens in each sentence of a text; `starts` are the offsets of all tokens. */
export function sentenceLengths(text, starts, mostTokens) {
  if (mostTokens === null || starts.length <= mostTokens) return starts.length ? [starts.length] : [];
  const levels = [afterBlankLines(text), afterLines(text), afterMarks(text)];
  const cut = (tokens, level) => cutTokens(tokens, starts, levels[level], mostTokens);
  return cut([0, starts.length], 0)
    .flatMap((paragraph) => cut(paragraph, 1))
    .flatMap((line) => joined(cut(line, 2), mostTokens));
}

/** Splits a range of too many tokens at borders, given as offsets. */
function cutTokens([first, last], starts, borders, mostTokens) {
  if (last - first <= mostTokens) return [[first, last]];
  const found = [];
  let place = borders.findIndex((border) => border > starts[first]);
  for (let token = first + 1; token < last && place >= 0; token++) {
    if (borders[place] > starts[token]) continue;
    found.push([first, token]);
    first = token;
    while (place < borders.length && borders[place] <= starts[token]) place++;
    if (place === borders.length) place = -1;
  }
  return [...found, [first, last]];
}

function joined(ranges, mostTokens) {
  const lengths = [];
  for (const [first, last] of ranges) {
    const both = (lengths.at(-1) ?? Infinity) + last - first;
    if (both <= mostTokens) lengths[lengths.length - 1] = both;
    else lengths.push(last - first);
  }
  return lengths;
}

function afterBlankLines(text) {
  return [...text.matchAll(BLANK_LINES)].map((match) => match.index + match[0].length);
}

function afterLines(text) {
  const lines = [...text.matchAll(LINE)].filter((match) => match[0]);
  const widthOf = (line) => [...line].length;
  const stripped = lines.map((match) => match[0].replace(AT_END, ""));
  const widest = stripped.reduce((most, line) => Math.max(most, widthOf(line)), 0);
  const pairs = lines.slice(1).map((following, number) => {
    const word = following[0].match(FIRST_WORD)?.[0] ?? "";
    const line = stripped[number];
    return { begin: following.index, line, word, isFull: widthOf(line) + 1 + widthOf(word) > widest };
  });
  const withWord = pairs.filter(({ word }) => word);
  const isWrapped = widest >= NARROWEST && 2 * withWord.filter(({ isFull }) => isFull).length > withWord.length;
  return withWord
    .filter(({ line, word, isFull }) => !IS_LOWER.test(word) && !(isWrapped && isFull && !/[.!?:;]$/.test(line)))
    .map(({ begin }) => begin);
}

function afterMarks(text) {
  return [...text.matchAll(END)]
    .filter(({ 0: mark, index }) => {
      const isAbbreviation = mark[0] === "." && ABBREVIATION.test(text.slice(Math.max(0, index - 8), index));
      return !isAbbreviation && !IS_LOWER.test(text.slice(index + mark.length, index + mark.length + 2));
    })
    .map((match) => match.index + match[0].length);
}
