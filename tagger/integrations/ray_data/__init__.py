"""A file tagged by many machines, `allennlp predict-file --ray`; page in `docs/how_to`: `any_size`."""
