// The effect of class weights: every strategy is run with every weight for one label at a time. `decode_bias` does not
// change training but shifts decoding by the logarithm of the weight.
{
  tagger:: error 'set `tagger`, a config with the head `crf`',
  labels:: ['PER', 'LOC'],
  weights:: [0.1, 0.25, 0.5, 1.5, 2, 3],
  strategies:: [
    'emission',
    'emission_transition',
    'lannoy',
    'chain',
    'marginal',
    'softmax_margin',
    'decode_bias',
  ],

  local head(strategy, label, weight) =
    if strategy == 'decode_bias'
    then { decode_bias: { [label]: std.log(weight) } }
    else { weighting: { type: strategy, label_weights: { [label]: weight } } },
  local columns(data, prefix) = [
    { title: '%s %s %s' % [data, label, measure], metrics: ['%s%s-%s' % [prefix, measure, label]] }
    for label in $.labels
    for measure in ['precision', 'recall']
  ] + [{ title: data + ' macro F1', metrics: [prefix + 'f1-measure-macro'] }],

  seeds: [1, 2, 3],
  baseline: 'plain',
  variants: { plain: $.tagger } + {
    ['%s, %s %g' % [strategy, label, weight]]: $.tagger { model+: { head+: head(strategy, label, weight) } }
    for strategy in $.strategies
    for label in $.labels
    for weight in $.weights
  },
  columns: columns('dev', 'best_validation_token-') + columns('test', 'test_'),
}
