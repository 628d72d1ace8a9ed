// Remedies on BC5CDR, with two labels, diseases and chemicals. Neither is rare.
// Files: see data/README.md; `allennlp fetch-encoder all-MiniLM-L6-v2`.
(import 'remedies.libsonnet') + {
  tagger:: (import '../bc5cdr_bilstm_crf.jsonnet') + $.light + {
    transformer:: 'data/all-MiniLM-L6-v2',
    batch_size:: 32,
    learning_rate:: 0.003,
    hidden_size:: 128,
    // Few epochs, because there are many runs.
    num_epochs:: 4,
    test_data_path: 'data/bc5cdr/test.tsv',
  },
  resampled_epochs:: { nsCRD: 2 },
  rare_labels:: ['Disease'],
  left_out:: (import 'few.libsonnet') + [
    'CRF, marginal, gamma 2',
    'CRF, oversampling',
    'CRF, softmax_margin, missing 1',
    'softmax, logit_adjusted',
    'softmax, majority or minority',
  ],
}
