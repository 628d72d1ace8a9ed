// Do the remedies that win on WNUT-17 over a small transformer also win over a larger one?
// Files: see data/README.md; `allennlp fetch-encoder all-mpnet-base-v2`.
local whole = import 'wnut17.jsonnet';
local kept = ['CRF', 'CRF, chain, effective_number', 'CRF, oversampling'];

whole {
  seeds: [1, 2, 3],
  tagger:: whole.tagger + (import '../mpnet.libsonnet'),
  local all = super.variants,
  variants: { [name]: all[name] for name in kept },
}
