// A chain for each label against one chain for all, on a part of a corpus: with all labels, and with two halves of
// which each annotates other labels. `scripts/experiments/change_corpus.py split-labels` writes the files.
{
  base:: error 'set `base`, a config',
  folder:: error 'set `folder`, where the halves are',
  local variant(train, chains) = $.base + {
    label_chains:: chains,
    // Few and small, for many runs.
    num_epochs:: 8,
    hidden_size:: 128,
    train_data_path: $.folder + train,
  },
  seeds: [1, 2, 3],
  variants: {
    'crf, all labels': variant('full.txt', false),
    'label_chains, all labels': variant('full.txt', true),
    'label_chains, halves': variant('halves.files.json', true),
    'crf, halves': variant('halves.files.json', false),
    'label_chains, halves taken for whole': variant('absent.txt', true),
  },
  columns: [
    { title: 'dev F1', metrics: ['best_validation_f1-measure-overall'] },
    { title: 'test F1', metrics: ['test_f1-measure-overall'] },
    { title: 'precision', metrics: ['test_precision-overall'] },
    { title: 'recall', metrics: ['test_recall-overall'] },
  ],
}
