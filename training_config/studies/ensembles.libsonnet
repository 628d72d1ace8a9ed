// Ensembles on the protocol of another study: three members that differ in the seed alone, in their bootstrap samples
// (bagging), or in their configs.
function(study) study {
  seeds: [1, 2, 3],
  tuned: ['CRF'],
  variants: {
    [name]: study.variants[name]
    for name in ['CRF', 'CRF, chain, effective_number', 'CRF, oversampling']
  } + {
    'CRF, bagging': study.tagger {
      data_loader: { type: 'bucketed', batch_sampler: { type: 'bagging', batch_size: study.tagger.batch_size } },
    },
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
