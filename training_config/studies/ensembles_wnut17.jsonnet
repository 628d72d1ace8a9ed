// Undersampling and ensembles on WNUT-17, with three of the five seeds of wnut17.jsonnet: three members that differ in the
// seed alone, in their bootstrap samples (bagging), or in their configs.
// Files: as there.
local whole = import 'wnut17.jsonnet';
local sampled(sampler) = whole.tagger {
  data_loader: { type: 'bucketed', batch_sampler: { batch_size: whole.tagger.batch_size } + sampler },
};

whole {
  seeds: [1, 2, 3],
  tuned: ['CRF', 'CRF, undersampling'],
  variants: {
    [name]: whole.variants[name]
    for name in ['CRF', 'CRF, chain, effective_number', 'CRF, oversampling']
  } + {
    'CRF, bagging': sampled({ type: 'bagging' }),
    // An epoch has 1,424 of the 3,394 sentences, so 19 epochs have as many steps as 8.
    'CRF, undersampling': sampled({ type: 'undersampling', rate: 0.3 }) { num_epochs:: 19 },
  },
  ensembles: {
    'three seeds': { of: ['CRF'], seeds: 3, average: 'marginals' },
    'three bootstrap samples': { of: ['CRF, bagging'], seeds: 3, average: 'marginals' },
    'three configs': {
      of: ['CRF', 'CRF, chain, effective_number', 'CRF, oversampling'],
      average: 'marginals',
    },
  },
}
