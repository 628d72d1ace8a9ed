"""Tags a file on many machines with `allennlp predict-file --ray`; page in `docs/how_to`: `any_size`."""
