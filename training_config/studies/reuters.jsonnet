// Eleven losses and tuned thresholds on Reuters-21578, with 90 labels and several labels per document: the losses of
// Huang et al. (2021) and four more, over frozen features of all-MiniLM-L6-v2 and the TF-IDF of the words. Import
// '../reuters_cnn.jsonnet' instead to study a small CNN. `python scripts/experiments/measure_svm.py` is the control.
(import 'losses.libsonnet') + {
  trained_with(loss)::
    (import '../reuters_frozen_minilm.jsonnet') + { loss:: loss, test_data_path: 'data/reuters/test.jsonl' },
  variants+: {
    // The config's ten epochs are too few for this loss.
    'binary_cross_entropy, 30 epochs': $.trained_with({ type: 'binary_cross_entropy' }) + {
      trainer+: { num_epochs: 30, learning_rate_scheduler+: { num_epochs: 30 } },
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
