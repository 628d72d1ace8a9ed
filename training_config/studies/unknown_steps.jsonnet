// Activities of a smart watch, of which half of all steps have no label: unknown steps left out of the loss, taken for
// negative, and with all labels known. docs/tutorial/numbers.md has the figures. These commands make the files:
//
//   python scripts/experiments/prepare_motions.py
//   python scripts/experiments/prepare_motions.py --unknown 0 --target data/motions_as_0
//   python scripts/experiments/prepare_motions.py --share-unknown 0 --target data/motions_known
local labels = ['standing', 'running', 'walking', 'badminton'];
local tagger(folder) = (import 'tagger/training/template.libsonnet') + {
  source_encoding:: null,
  tag_encoding:: null,
  hidden_size:: 64,
  batch_size:: 4,
  num_epochs:: 15,
  train_data_path: folder + '/train.csv',
  validation_data_path: folder + '/dev.csv',
  test_data_path: 'data/motions/test.csv',
  dataset_reader: {
    type: 'numeric_sequences',
    number_columns: ['acc_x', 'acc_y', 'acc_z', 'gyro_x', 'gyro_y', 'gyro_z'],
    label_columns: labels,
    sequence_column: 'recording',
    window: 200,
    overlap: 50,
  },
  vocabulary: {},
  model+: {
    text_field_embedder: { token_embedders: { numbers: { type: 'numbers', size: 6 } } },
    head: { type: 'sigmoid' },
    segment_tolerance: 5,
  },
  trainer+: { validation_metric: '+f1-measure-macro' },
};

{
  seeds: [1, 2, 3],
  variants: {
    'left out': tagger('data/motions'),
    'taken for negative': tagger('data/motions_as_0'),
    'all known': tagger('data/motions_known'),
  },
  columns: [
    { title: 'dev macro F1', metrics: ['best_validation_f1-measure-macro'] },
    { title: 'test macro F1', metrics: ['test_f1-measure-macro'] },
    { title: 'precision', metrics: ['test_precision-macro'] },
    { title: 'recall', metrics: ['test_recall-macro'] },
    { title: 'segment F1', metrics: ['test_segment-f1-measure-macro'] },
    { title: 'AUC', metrics: ['test_auc-macro'] },
  ],
}
