"""Settings fitted to labelled data, without gradients.

- `decoding`: the biases and thresholds of a `ChainDecoder`, for `allennlp tune-decoding`, and `goals`:
  what it is tuned to; `labelled_file`: what it needs of a saved tagger and a file;
- `curves`: precision and recall of each label by its bias; `evidence`: the entities behind results;
- `promises`: goals that hold with a stated confidence, from `promise_search`, `promise_tests` and
  `promise_evidence`; `promise_record`: what an archive keeps of them;
- `groups`: sentences that are drawn together, such as documents;
- `features`: what a tagger says of texts; `two_samples`, `data_comparison`: whether texts differ in it;
- `estimates`: precision and recall without gold tags; `recalibration`: the correction of probabilities;
- `tuned_archive`: writes the archive with other settings or thresholds.
"""
