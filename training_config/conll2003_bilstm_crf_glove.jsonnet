// Like conll2003_bilstm_crf.jsonnet, with word vectors initialised from GloVe 6B, 50 dimensions.
// Files: also `allennlp fetch-encoder glove`, which puts the vectors into data/glove.
// Expect: development F1 0.944, test F1 0.901 (five runs).
(import 'conll2003_bilstm_crf.jsonnet') + {
  glove_file:: 'data/glove/glove.6B.50d.txt',
  lowercase_words:: true,
}
