// How much do labels missed by annotators cost? 10, 30 and 50 % of the training labels of Reuters-21578 are hidden, that
// is, marked as negative. Development and test data are complete. The study compares five losses, three of them made for
// missing labels, and a threshold tuned on the development data. These commands make the files:
//
//   python scripts/experiments/change_corpus.py hide-labels data/reuters/train.jsonl data/reuters/hidden_10.jsonl --share 0.1
//   python scripts/experiments/change_corpus.py hide-labels data/reuters/train.jsonl data/reuters/hidden_30.jsonl --share 0.3
//   python scripts/experiments/change_corpus.py hide-labels data/reuters/train.jsonl data/reuters/hidden_50.jsonl --share 0.5
local classifier = (import '../reuters_frozen_minilm.jsonnet') + { test_data_path: 'data/reuters/test.jsonl' };
local losses = ['binary_cross_entropy', 'asymmetric', 'hill', 'self_paced_correction', 'negative_tolerant'];
local shares = [10, 30, 50];

{
  seeds: [1, 2, 3],
  variants: {
    ['%s, %d %% hidden' % [loss, share]]: classifier {
      loss:: { type: loss },
      train_data_path: 'data/reuters/hidden_%d.jsonl' % share,
    }
    for loss in losses
    for share in shares
  } + {
    ['binary_cross_entropy, common threshold, %d %% hidden' % share]: classifier {
      loss:: { type: 'binary_cross_entropy' },
      train_data_path: 'data/reuters/hidden_%d.jsonl' % share,
      trainer+: { callbacks+: [{ type: 'tune_thresholds', target: 'micro', common: true }] },
    }
    for share in shares
  },
  columns: [
    { title: 'dev micro F1', metrics: ['best_validation_f1-measure-overall'] },
    { title: 'test micro F1', metrics: ['test_f1-measure-overall'] },
    { title: 'macro F1', metrics: ['test_f1-measure-macro'] },
    { title: 'precision', metrics: ['test_precision-overall'] },
    { title: 'recall', metrics: ['test_recall-overall'] },
  ],
}
