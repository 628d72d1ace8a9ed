// A search of class weights and `gamma` on WNUT-17, for the macro F1 on development data. Its trials have the protocol of
// wnut17.jsonnet, with another seed than the comparison there.
// Files: see data/README.md; `allennlp fetch-encoder all-MiniLM-L6-v2`.
local labels = ['corporation', 'creative-work', 'group', 'location', 'person', 'product'];

{
  config: (import 'wnut17.jsonnet').tagger {
    weighting:: { type: 'marginal', gamma: 0, label_weights: { [label]: 1 for label in labels } },
  },
  search: {
    'model.head.weighting.gamma': { least: 0, most: 3 },
  } + {
    ['model.head.weighting.label_weights.' + label]: { least: 0.5, most: 8, log: true }
    for label in labels
  },
  metric: 'f1-measure-macro',
  seeds: [13],
  trials: 30,
}
