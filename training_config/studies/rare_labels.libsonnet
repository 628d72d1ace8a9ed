// What helps rare labels? One tagger, trained plainly and with each remedy. A child names the corpus.
local balanced = { weight_rule: 'balanced' };
local inverse_sqrt = { weight_rule: 'inverse_sqrt' };

{
  tagger:: error 'set `tagger`, the plain config',
  rare_labels:: error 'set `rare_labels`, the labels whose recall the table shows',

  local crf(weighting) = $.tagger { weighting:: weighting },
  local softmax(loss) = $.tagger {
    model+: { head: { type: 'softmax', loss: loss, constrain_decoding: true } },
  },

  seeds: [1, 2, 3],
  variants: {
    'CRF': $.tagger,
    'CRF, chain, inverse_sqrt': crf({ type: 'chain' } + inverse_sqrt),
    'CRF, chain, balanced': crf({ type: 'chain' } + balanced),
    'CRF, softmax_margin, missing 1': crf({ type: 'softmax_margin', missing: 1 }),
    'CRF, marginal, gamma 2': crf({ type: 'marginal', gamma: 2 }),
    'CRF, emission, inverse_sqrt': crf({ type: 'emission' } + inverse_sqrt),
    'CRF, oversampling': $.tagger {
      data_loader: {
        type: 'bucketed',
        batch_sampler: { type: 'oversampling', batch_size: $.tagger.batch_size, threshold: 0.1 },
      },
    },
    'softmax': softmax({ type: 'cross_entropy' }),
    'softmax, inverse_sqrt': softmax({ type: 'cross_entropy' } + inverse_sqrt),
    'softmax, balanced': softmax({ type: 'cross_entropy' } + balanced),
    'softmax, focal': softmax({ type: 'focal' }),
    'softmax, class_balanced': softmax({ type: 'class_balanced' }),
    'softmax, logit_adjusted': softmax({ type: 'logit_adjusted' }),
    'softmax, dice': softmax({ type: 'dice' }),
  },
  columns: [
    { title: 'dev micro F1', metrics: ['best_validation_f1-measure-overall'] },
    { title: 'test micro F1', metrics: ['test_f1-measure-overall'] },
    { title: 'macro F1', metrics: ['test_f1-measure-macro'] },
    { title: 'precision', metrics: ['test_precision-overall'] },
    { title: 'recall', metrics: ['test_recall-overall'] },
    { title: 'recall of rare labels', metrics: ['test_recall-' + label for label in $.rare_labels] },
  ],
}
