import threading

import pytest
import torch

from tagger.common.threads import run_side_by_side


def test_results_come_in_the_order_of_the_calls_and_errors_reach_the_caller(num_threads):
    calls = [(first, 2) for first in range(20)]
    assert run_side_by_side(pow, calls, num_workers=3) == [first**2 for first in range(20)]
    assert run_side_by_side(pow, [], num_workers=3) == []
    with pytest.raises(ZeroDivisionError):
        run_side_by_side(lambda x: 1 / x, [(1,), (0,)], num_workers=2)


@pytest.mark.parametrize("is_inference", [False, True])
def test_calls_record_no_gradients_and_keep_the_callers_inference_mode(num_threads, is_inference):
    def modes(_):
        return torch.is_grad_enabled(), torch.is_inference_mode_enabled()

    with torch.inference_mode(is_inference):
        assert run_side_by_side(modes, [(1,), (2,)], num_workers=2) == [(False, is_inference)] * 2


@pytest.mark.parametrize("num_workers", [1, 2, 4])
def test_workers_divide_the_threads_among_themselves(num_threads, num_workers):
    calls = [()] * num_workers
    of_workers = run_side_by_side(torch.get_num_threads, calls, num_workers)
    assert of_workers == [num_threads // min(num_workers, num_threads)] * num_workers
    # Later threads have as many as before.
    numbers = [torch.get_num_threads()]
    later = threading.Thread(target=lambda: numbers.append(torch.get_num_threads()))
    later.start()
    later.join()
    assert numbers == [num_threads] * 2
