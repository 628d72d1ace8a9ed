// Remedies for a rare label on CoNLL-2003: training and development data keep 1 % of the sentences with MISC.
// These commands make the files:
//
//   python scripts/experiments/change_corpus.py thin-label data/conll2003/eng.train data/conll2003_thin/train.txt --label MISC --share 0.01
//   python scripts/experiments/change_corpus.py thin-label data/conll2003/eng.testa data/conll2003_thin/dev.txt --label MISC --share 0.01
local whole = import 'conll2003.jsonnet';

whole {
  tagger:: whole.tagger {
    train_data_path: 'data/conll2003_thin/train.txt',
    validation_data_path: 'data/conll2003_thin/dev.txt',
  },
  resampled_epochs:: { nsCRD: 1 },
  left_out:: (import 'few.libsonnet') + [
    'CRF, chain, effective_number',
    'CRF, softmax_margin, missing 1',
    'softmax, class_balanced',
    'softmax, majority or minority',
  ],
  // The test data have a hundred times as many.
  more:: {
    'CRF, prior correction': $.tagger { model+: { head+: { decode_bias: { MISC: std.log(100) } } } },
    'CRF, chain, MISC 10': $.tagger { weighting:: { type: 'chain', label_weights: { MISC: 10 } } },
    'CRF, softmax_margin, MISC 10': $.tagger { weighting:: { type: 'softmax_margin', label_weights: { MISC: 10 } } },
  },
}
