// Augmentation on WNUT-17, with three of the five seeds of wnut17.jsonnet.
// Files: as there.
(import 'augmentation.libsonnet')(import 'wnut17.jsonnet') + {
  more_augmented:: {
    // WeLT (Mobasher et al. 2023), over the training tokens.
    'CRF, chain, 1 - share': $.tagger {
      weighting:: {
        type: 'chain',
        label_weights: {
          person: 0.9841,
          location: 0.9874,
          group: 0.9934,
          product: 0.9945,
          'creative-work': 0.9945,
          corporation: 0.9957,
          O: 0.0504,
        },
      },
    },
  },
}
