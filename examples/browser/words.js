// The forms of words for lookup, their hashes, and their shapes: the counterpart of `tagger_texts/words.py`.

/** A word as written (or in lowercase), in lowercase, and with 0 for every digit. */
export function wordForms(word, lowercase) {
  const lower = word.toLowerCase();
  return [lowercase ? lower : word, lower, lower.replace(/\p{Nd}/gu, "0")];
}

/** `X` for capitals, `x` for other letters, `d` for digits, other characters unchanged, no marks; at most 8. */
export function wordShape(word) {
  const signs = [...(word.replace(/\p{M}/gu, "") || word)].map((character) => {
    if (DIGIT.test(character)) return "d";
    if (!/\p{L}/u.test(character)) return character;
    return /\p{Uppercase}/u.test(character) ? "X" : "x";
  });
  // Shorten runs of equal signs to two.
  const kept = signs.filter((sign, i) => i < 2 || sign !== signs[i - 1] || sign !== signs[i - 2]);
  return kept.slice(0, 8).join("");
}

// Python's digits, including circled, superscript and subscript ones.
const DIGIT =
  /[\p{Nd}\u{b2}\u{b3}\u{b9}\u{1369}-\u{1371}\u{19da}\u{2070}\u{2074}-\u{2079}\u{2080}-\u{2089}\u{2460}-\u{2468}\u{2474}-\u{247c}\u{2488}-\u{2490}\u{24ea}\u{24f5}-\u{24fd}\u{24ff}\u{2776}-\u{277e}\u{2780}-\u{2788}\u{278a}-\u{2792}\u{10a40}-\u{10a43}\u{10e60}-\u{10e68}\u{11052}-\u{1105a}\u{1f100}-\u{1f10a}]/u;

/** The first 64 bits of BLAKE2b, with a sign. */
export function wordHash(word) {
  const bytes = new TextEncoder().encode(word);
  const numBlocks = Math.max(1, Math.ceil(bytes.length / 128));
  const filled = new Uint8Array(numBlocks * 128);
  filled.set(bytes);
  const view = new DataView(filled.buffer);
  const state = [...START];
  // The parameters: a digest of 8 bytes, no key, and no tree.
  state[0] ^= 0x01010008n;
  for (let block = 0; block < numBlocks; block++) {
    const words = Array.from({ length: 16 }, (_, i) => view.getBigUint64(block * 128 + i * 8, true));
    const isLast = block === numBlocks - 1;
    compress(state, words, BigInt(isLast ? bytes.length : (block + 1) * 128), isLast);
  }
  return BigInt.asIntN(64, state[0]);
}

// RFC 7693, section 2.6 and 2.7.
const START = [
  0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n,
];
const ORDERS = [
  "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
  "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0",
].map((order) => [...order].map((digit) => parseInt(digit, 16)));
const QUARTERS = [
  [0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15],
  [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14],
];
const MASK = (1n << 64n) - 1n;

/** RFC 7693, section 3.2. */
function compress(state, words, numBytes, isLast) {
  const v = [...state, ...START];
  v[12] ^= numBytes;
  if (isLast) v[14] ^= MASK;
  const rotated = (value, bits) => (value >> bits) | ((value << (64n - bits)) & MASK);
  for (let round = 0; round < 12; round++) {
    const order = ORDERS[round % 10];
    QUARTERS.forEach(([a, b, c, d], place) => {
      v[a] = (v[a] + v[b] + words[order[2 * place]]) & MASK;
      v[d] = rotated(v[d] ^ v[a], 32n);
      v[c] = (v[c] + v[d]) & MASK;
      v[b] = rotated(v[b] ^ v[c], 24n);
      v[a] = (v[a] + v[b] + words[order[2 * place + 1]]) & MASK;
      v[d] = rotated(v[d] ^ v[a], 16n);
      v[c] = (v[c] + v[d]) & MASK;
      v[b] = rotated(v[b] ^ v[c], 63n);
    });
  }
  state.forEach((value, i) => {
    state[i] = value ^ v[i] ^ v[i + 8];
  });
}
