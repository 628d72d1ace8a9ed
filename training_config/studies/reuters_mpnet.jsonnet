// Four losses and a tuned threshold on Reuters-21578 over frozen features of a larger transformer, all-mpnet-base-v2.
// Files: `python scripts/experiments/prepare_reuters.py SOURCE` and `allennlp fetch-encoder all-mpnet-base-v2`.
local kept = [
  'binary_cross_entropy',
  'binary_cross_entropy, common threshold',
  'asymmetric',
  'negative_tolerant',
  'distribution_balanced',
];

(import 'reuters.jsonnet') + {
  trained_with(loss):: (import '../reuters_frozen_mpnet.jsonnet') + { loss:: loss, test_data_path: 'data/reuters/test.jsonl' },
  local all = super.variants,
  variants: { [name]: all[name] for name in kept },
}
