// A chain for each label against one chain, on NEREL: Russian news with 29 labels, of which a seventh of the entities lie in
// others (Loukachevitch et al. 2021). There are no word vectors.
// Files: see `scripts/experiments/score_levels.py`, which also scores the levels.
local base = (import 'tagger/training/template.libsonnet') + {
  source_encoding:: 'BIO',
  tokenizer:: { type: 'punctuation' },
  language:: 'ru',
  // Of entities of one label that overlap, the longest; with one chain, of all.
  dataset_reader+: { overlapping: 'longest' },
  hidden_size:: 128,
  num_epochs:: 10,
  train_data_path: 'data/nerel/train',
  validation_data_path: 'data/nerel/dev',
};
{
  seeds: [1, 2, 3],
  baseline: 'crf, longest',
  variants: {
    label_chains: base + { label_chains:: true },
    'crf, longest': base,
  },
  columns: [
    { title: 'dev F1', metrics: ['best_validation_f1-measure-overall'] },
    { title: 'precision', metrics: ['best_validation_precision-overall'] },
    { title: 'recall', metrics: ['best_validation_recall-overall'] },
  ],
}
