// The model of a published study of class weights on CoNLL-2003, for `allennlp weighting-study`: random word
// vectors, a BiGRU over characters, a BiGRU over words, no dropout, and an L2 penalty on the transitions.
// It names the test file, so the vocabulary holds its words: see docs/studies.md before you quote test scores.
// Files: `python scripts/prepare_conll2003.py SOURCE` puts them into data/conll2003.
local character_hidden_size = 80;

(import 'tagger/template.libsonnet') + {
  source_encoding:: 'IOB1',
  tag_encoding:: 'BIO',
  min_word_count:: 1,
  character_dim:: 25,
  hidden_size:: 300,
  num_epochs:: 25,

  train_data_path: 'data/conll2003/eng.train',
  validation_data_path: 'data/conll2003/eng.testa',
  test_data_path: 'data/conll2003/eng.testb',
  evaluate_on_test: true,

  model+: {
    text_field_embedder+: { token_embedders+: { token_characters+: { encoder: {
      type: 'gru',
      input_size: $.character_dim,
      hidden_size: character_hidden_size,
      bidirectional: true,
    } } } },
    encoder: { type: 'gru', hidden_size: $.hidden_size, bidirectional: true },
    regularizer: { regexes: [['head\\.crf\\.transitions', { type: 'l2', alpha: 0.01 }]] },
  },
}
