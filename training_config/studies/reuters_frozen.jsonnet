// The seven losses of reuters.jsonnet over frozen features of the transformer all-MiniLM-L6-v2, which are computed once.
local study = import 'reuters.jsonnet';
local classifier = (import '../reuters_frozen_minilm.jsonnet') + { test_data_path: 'data/reuters/test.jsonl' };

study {
  variants: {
    [name]: classifier {
      loss:: study.variants[name].loss,
      trainer+: { callbacks: study.variants[name].trainer.callbacks + ['frozen_features'] },
    }
    for name in std.objectFields(study.variants)
  },
}
