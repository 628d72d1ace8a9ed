// Eleven losses on Reuters-21578, 90 labels, several for each document: those of Huang et al. 2021 and four more, over
// frozen features of the transformer all-MiniLM-L6-v2 and the TF-IDF of the words; and thresholds that are tuned.
// With '../reuters_cnn.jsonnet' instead it is a study of a small CNN. `python scripts/measure_svm.py` is the control.
local classifier = (import '../reuters_frozen_minilm.jsonnet') + { test_data_path: 'data/reuters/test.jsonl' };
local tuned(settings) = classifier {
  loss:: { type: 'binary_cross_entropy' },
  trainer+: { callbacks+: [{ type: 'tune_thresholds' } + settings] },
};

(import 'losses.libsonnet') + {
  variants: {
    [loss]: classifier { loss:: { type: loss } }
    for loss in $.losses
  } + {
    // The config's ten epochs are few for it.
    'binary_cross_entropy, 30 epochs': classifier {
      loss:: { type: 'binary_cross_entropy' },
      trainer+: { num_epochs: 30, learning_rate_scheduler+: { num_epochs: 30 } },
    },
    'binary_cross_entropy, thresholds by label': tuned({ target: 'macro' }),
    'binary_cross_entropy, common threshold': tuned({ target: 'micro', common: true }),
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
