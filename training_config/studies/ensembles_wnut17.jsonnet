// Undersampling and ensembles on WNUT-17, with three of the five seeds of wnut17.jsonnet. Files: as there.
local study = import 'wnut17.jsonnet';

(import 'ensembles.libsonnet')(study) + {
  tuned+: ['CRF, undersampling'],
  variants+: {
    // An epoch has 1,424 of the 3,394 sentences, so 19 epochs have as many steps as 8.
    'CRF, undersampling': study.tagger {
      data_loader: {
        type: 'bucketed',
        batch_sampler: { type: 'undersampling', rate: 0.3, batch_size: study.tagger.batch_size },
      },
      num_epochs:: 19,
    },
  },
}
