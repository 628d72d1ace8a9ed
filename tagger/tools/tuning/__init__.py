"""Settings fitted to labelled data, without gradients.

- `decoding`: the biases and thresholds of a `ChainDecoder`, for `allennlp tune-decoding`;
- `labelled_file`: what it needs of a saved tagger and a file;
- `curves`: precision and recall of each label by its bias;
- `evidence`: how many entities its results rest on;
- `sights`: what a tagger sees in texts; `two_samples`, `data_comparison`: whether texts differ in it;
- `estimates`: precision and recall without gold tags; `recalibration`: the correction of probabilities;
- `promise_fitting`: shares that hold with a stated confidence; `promises` has its tests,
  `promise_ladders` the order of settings, `promise_evidence` what the data show of the tagger as it
  is, `promise_record` what an archive keeps, and `units` what is drawn independently;
- `tuned_archive`: writes the archive with other settings or thresholds.
"""
