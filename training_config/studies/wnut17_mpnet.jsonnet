// Do the remedies that win on WNUT-17 over a small transformer also win over a larger one?
// Files: see data/README.md; `allennlp fetch-encoder all-mpnet-base-v2`.
local kept = ['CRF', 'CRF, chain, effective_number', 'CRF, oversampling'];

(import 'wnut17.jsonnet') + {
  seeds: [1, 2, 3],
  tagger:: (import '../wnut17_frozen_mpnet_crf.jsonnet') + { test_data_path: 'data/wnut17/emerging.test.annotated' },
  local all = super.variants,
  variants: { [name]: all[name] for name in kept },
}
