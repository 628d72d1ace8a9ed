// A chain for each label against one chain for the outermost entities, on SkillSpan: skills and knowledge in job
// postings (Zhang et al. 2022), where knowledge may lie in a skill.
// Files: see `scripts/experiments/score_levels.py`, which also scores the levels.
local base = (import 'tagger/training/template.libsonnet') + {
  source_encoding:: 'BIO',
  glove_file:: 'data/glove/glove.6B.50d.txt',
  lowercase_words:: true,
  num_epochs:: 8,
  validation_data_path: 'data/skillspan/dev.conll',
};
{
  seeds: [1, 2, 3],
  variants: {
    label_chains: base + {
      label_chains:: true,
      train_data_path: 'data/skillspan/train.conll',
      dataset_reader+: { tag_column: [1, 2] },
    },
    'crf, outermost': base + {
      train_data_path: 'data/skillspan/outermost/train.conll',
      validation_data_path: 'data/skillspan/outermost/dev.conll',
    },
  },
  columns: [
    { title: 'dev F1', metrics: ['best_validation_f1-measure-overall'] },
    { title: 'precision', metrics: ['best_validation_precision-overall'] },
    { title: 'recall', metrics: ['best_validation_recall-overall'] },
  ],
}
