"""A pytest plugin that runs allennlp-models' own tests with our CRF in its `crf_tagger`."""

from allennlp.models import Model

from examples.weighted_crf_tagger import WeightedCrfTagger

Model.register("crf_tagger", exist_ok=True)(WeightedCrfTagger)
