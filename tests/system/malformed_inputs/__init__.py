"""Malformed inputs of every command, and what the last line says of each.

`pytest tests/system/test_malformed_inputs.py` tries them all.
"""

from typing import List

from tests.system.malformed_inputs.case import Case
from tests.system.malformed_inputs.corpora import of_compare_data, of_convert, of_find_label_errors
from tests.system.malformed_inputs.labels import of_add_label, of_rank_unlabelled
from tests.system.malformed_inputs.other_commands import (
    of_allennlp,
    of_start,
    of_the_others,
    of_tune_decoding,
    of_tune_thresholds,
)
from tests.system.malformed_inputs.prediction import of_evaluate, of_predict, of_predict_file
from tests.system.malformed_inputs.training import of_train

CASES: List[Case] = [
    *of_train(),
    *of_evaluate(),
    *of_predict(),
    *of_predict_file(),
    *of_tune_decoding(),
    *of_tune_thresholds(),
    *of_compare_data(),
    *of_find_label_errors(),
    *of_convert(),
    *of_rank_unlabelled(),
    *of_add_label(),
    *of_start(),
    *of_the_others(),
    *of_allennlp(),
]
