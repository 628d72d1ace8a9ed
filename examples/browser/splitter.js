// Splits texts into tokens by an expression or by a file's rules: the counterpart of
// `tagger_onnx/splitter.py`, which explains them. The rules are Python's regular expressions.

// Python's blanks.
const BLANK = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const WORD = "\\p{L}\\p{N}_";
const PIECES = new RegExp(`[^${BLANK}]+`, "gu");

/** Returns a splitter: its method `split` returns tokens, each with `text` and `start`. */
export function splitterOf(splitting) {
  return splitting.pattern ? { split: splitterAt(splitting.pattern) } : new Splitter(splitting);
}

function splitterAt(pattern) {
  const expression = new RegExp(pattern, "gu");
  return (text) => {
    const begin = text.startsWith("\ufeff") ? 1 : 0;
    return [...text.slice(begin).matchAll(expression)].map((match) => ({ text: match[0], start: begin + match.index }));
  };
}

class Splitter {
  /** @param {object} rules - As `describe_splitting` of `tagger.export` returns them. */
  constructor(rules) {
    const compiled = (name, flags) =>
      rules[name] && new RegExp(converted(rules[name].pattern), flags + (rules[name].ignore_case ? "i" : ""));
    [this.prefix, this.suffix] = ["prefix", "suffix"].map((name) => compiled(name, "u"));
    this.infix = compiled("infix", "gu");
    // Files of older versions have no expression for emoji; none matches.
    this.emoji = new RegExp(rules.emoji ?? "(?!)", "gu");
    [this.token, this.url] = ["token", "url"].map((name) => compiled(name, "uy"));
    this.exceptions = new Map(Object.entries(rules.exceptions));
    // Exceptions that the rules would split, by the resulting tokens.
    this.rejoined = new Set();
    this.firsts = new Set();
    this.longest = 0;
    for (const text of this.exceptions.keys()) {
      if ([this.prefix, this.infix, this.suffix].some((each) => each && text.search(each) >= 0)) {
        const tokens = this.splitByRules(text, new Map());
        this.rejoined.add(tokens.join("\0"));
        this.firsts.add(tokens[0]);
        this.longest = Math.max(this.longest, tokens.length);
      }
    }
  }

  /** Returns the tokens of a text, each with `text` and `start`. */
  split(text) {
    const tokens = [];
    const emoji = [...text.matchAll(this.emoji)].map((match) => ({ text: match[0], start: match.index }));
    // A byte order mark is not part of a token.
    let begin = text.startsWith("\ufeff") ? 1 : 0;
    for (const each of [...emoji, { text: "", start: text.length }]) {
      for (const token of this.splitText(text.slice(begin, each.start))) {
        tokens.push({ text: token.text, start: begin + token.start });
      }
      tokens.push(each);
      begin = each.start + each.text.length;
    }
    return tokens.filter((token) => token.text);
  }

  splitText(text) {
    const tokens = [];
    let end = 0;
    for (const piece of text.matchAll(PIECES)) {
      let start = piece.index;
      // For spaCy, other blanks are tokens, so no exception extends across them.
      if (!["", " "].includes(text.slice(end, start))) tokens.push({ text: "", start: end });
      for (const token of this.splitByRules(piece[0], this.exceptions)) {
        tokens.push({ text: token, start });
        start += token.length;
      }
      end = start;
    }
    return this.withExceptions(tokens, text);
  }

  splitByRules(piece, exceptions) {
    if (exceptions.has(piece)) return exceptions.get(piece);
    const [prefixes, middle, suffixes] = this.withoutAffixes(piece, exceptions);
    let inner = [];
    if (exceptions.has(middle)) inner = exceptions.get(middle);
    else if (matches(this.token, middle) || matches(this.url, middle)) inner = [middle];
    else if (middle) inner = this.splitAtInfixes(middle);
    return [...prefixes, ...inner, ...suffixes.reverse()];
  }

  withoutAffixes(piece, exceptions) {
    const [prefixes, suffixes] = [[], []];
    let lastLength = 0;
    while (piece && piece.length !== lastLength) {
      if (matches(this.token, piece) || exceptions.has(piece)) break;
      lastLength = piece.length;
      const before = this.prefix?.exec(piece)?.[0].length ?? 0;
      if (before && exceptions.has(piece.slice(before))) {
        prefixes.push(piece.slice(0, before));
        piece = piece.slice(before);
        break;
      }
      const end = piece.length - (this.suffix?.exec(piece.slice(before))?.[0].length ?? 0);
      if (end < piece.length && exceptions.has(piece.slice(0, end))) {
        suffixes.push(piece.slice(end));
        piece = piece.slice(0, end);
        break;
      }
      if (before) prefixes.push(piece.slice(0, before));
      if (end < piece.length) suffixes.push(piece.slice(end));
      piece = piece.slice(before, end);
    }
    return [prefixes, piece, suffixes];
  }

  splitAtInfixes(piece) {
    const tokens = [];
    let position = 0;
    for (const infix of this.infix ? piece.matchAll(this.infix) : []) {
      if (infix.index === 0) continue;
      tokens.push(piece.slice(position, infix.index), infix[0]);
      position = infix.index + infix[0].length;
    }
    return [...tokens, piece.slice(position)].filter((token) => token);
  }

  withExceptions(tokens, text) {
    const found = [];
    tokens.forEach((token, first) => {
      if (!this.firsts.has(token.text)) return;
      const texts = [];
      for (const { text: own } of tokens.slice(first, first + this.longest)) {
        texts.push(own);
        if (this.rejoined.has(texts.join("\0"))) found.push([first, first + texts.length]);
      }
    });
    // The longest first, then the first.
    found.sort(([a, b], [c, d]) => d - c - (b - a) || a - c);
    const taken = new Set();
    const chosen = new Map();
    for (const [first, last] of found) {
      const isFree = !taken.has(first) && !taken.has(last - 1);
      for (let place = first; place < last; place++) taken.add(place);
      const { text: own, start } = tokens[last - 1];
      const exception = this.exceptions.get(text.slice(tokens[first].start, start + own.length));
      if (isFree && exception) chosen.set(first, [last, exception]);
    }
    const result = [];
    for (let place = 0; place < tokens.length; ) {
      const [last, texts] = chosen.get(place) ?? [place + 1, [tokens[place].text]];
      let { start } = tokens[place];
      for (const own of texts) {
        result.push({ text: own, start });
        start += own.length;
      }
      place = last;
    }
    return result;
  }
}

function matches(expression, text) {
  if (!expression) return false;
  expression.lastIndex = 0;
  return expression.test(text);
}

/** Converts a Python regular expression, of the kind in spaCy's rules, to JavaScript with the flag `u`. */
export function converted(pattern) {
  const classes = { d: "\\p{Nd}", w: WORD, s: BLANK };
  let [result, isInClass] = ["", false];
  pattern = pattern.replace(/^\(\?[iu]+\)/, "");
  for (let i = 0; i < pattern.length; i++) {
    const character = pattern[i];
    const rest = pattern.slice(i);
    if (character === "\\") {
      const next = pattern[++i];
      const inner = classes[next.toLowerCase()];
      if (inner && next in classes) result += isInClass ? inner : `[${inner}]`;
      else if (inner && !isInClass) result += `[^${inner}]`;
      else if (next === "U") {
        result += `\\u{${pattern.slice(i + 1, i + 9)}}`;
        i += 8;
      } else if (next === "b" && !isInClass) {
        result += `(?:(?<=[${WORD}])(?![${WORD}])|(?<![${WORD}])(?=[${WORD}]))`;
      } else if (/[a-zA-Z0-9^$\\.*+?()[\]{}|/]/.test(next) || (isInClass && next === "-")) {
        result += `\\${next}`;
      } else result += next;
    } else if (isInClass) {
      isInClass = character !== "]";
      result += character;
    } else if (character === "[") {
      isInClass = true;
      // A bracket in first place is a literal character.
      const [opening] = rest.match(/^\[\^?\]?/);
      result += opening.replace("]", "\\]");
      i += opening.length - 1;
    } else if (character === "{") {
      const quantifier = rest.match(/^\{(\d*)(,?)(\d*)\}/);
      if (quantifier && quantifier[0] !== "{}" && quantifier[0] !== "{,}") {
        result += `{${quantifier[1] || 0}${quantifier[2]}${quantifier[3]}}`;
        i += quantifier[0].length - 1;
      } else result += "\\{";
    } else if (character === "}" || character === "]") result += `\\${character}`;
    else result += character;
  }
  return result;
}
