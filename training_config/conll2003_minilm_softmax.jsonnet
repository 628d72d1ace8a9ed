// As conll2003_minilm_crf.jsonnet, but each token's tag is predicted on its own; decoding keeps tags legal.
// Files: `python scripts/prepare_conll2003.py SOURCE` and `python scripts/prepare_minilm.py`.
(import 'conll2003_minilm_crf.jsonnet') + {
  head:: 'softmax',
}
