// Ten losses on Reuters-21578, 90 labels, several for each document: those of Huang et al. 2021 and three more, over frozen
// features of the transformer all-MiniLM-L6-v2. With '../reuters_cnn.jsonnet' instead it is one with a small CNN.
local classifier = (import '../reuters_frozen_minilm.jsonnet') + { test_data_path: 'data/reuters/test.jsonl' };
local losses = [
  'binary_cross_entropy',
  'focal',
  'asymmetric',
  'hill',
  'zero_bounded_ranking',
  'class_balanced_focal',
  'rebalanced_focal',
  'negative_tolerant',
  'distribution_balanced',
  'class_balanced_negative_tolerant',
];

{
  seeds: [1, 2, 3],
  variants: {
    [loss]: classifier { loss:: { type: loss } }
    for loss in losses
  } + {
    'binary_cross_entropy, tune_thresholds': classifier {
      trainer+: { callbacks+: [{ type: 'tune_thresholds', target: 'macro' }] },
    },
  },
  columns: [
    { title: 'dev micro F1', metrics: ['best_validation_f1-measure-overall'] },
    { title: 'test micro F1', metrics: ['test_f1-measure-overall'] },
    { title: 'macro F1', metrics: ['test_f1-measure-macro'] },
    { title: 'head', metrics: ['test_f1-measure-head'] },
    { title: 'medium', metrics: ['test_f1-measure-medium'] },
    { title: 'tail', metrics: ['test_f1-measure-tail'] },
  ],
}
