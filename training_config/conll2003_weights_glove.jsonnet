// As conll2003_weights.jsonnet, with word vectors that start from GloVe 6B, 50 dimensions.
// Files: also `python scripts/prepare_glove.py`, which puts the vectors into data/glove.
(import 'conll2003_weights.jsonnet') + {
  glove_file:: 'data/glove/glove.6B.50d.txt',
  lowercase_words:: true,
}
