"""`allennlp predict-file --ray`: a file tagged by many machines."""
