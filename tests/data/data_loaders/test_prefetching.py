import threading

import pytest

from tagger.data.data_loaders.prefetching import prefetch


def test_results_are_those_of_map():
    for length in range(4):
        assert list(prefetch(str, range(length))) == list(map(str, range(length)))


def test_the_next_result_is_made_on_a_thread_while_this_one_is_in_use():
    made, threads = threading.Semaphore(0), set()

    def make(item):
        threads.add(threading.current_thread())
        made.release()
        return item

    results = prefetch(make, range(3))
    assert next(results) == 0
    for _ in range(2):
        # the one in use, and the next
        assert made.acquire(timeout=10)
    assert threading.current_thread() not in threads
    assert list(results) == [1, 2]


def test_items_are_drawn_on_the_callers_thread():
    threads = set()

    def items():
        for item in range(3):
            threads.add(threading.current_thread())
            yield item

    list(prefetch(str, items()))
    assert threads == {threading.current_thread()}


def test_an_error_is_raised_at_its_turn():
    results = prefetch(lambda item: 1 // item, [1, 1, 0])
    assert [next(results), next(results)] == [1, 1]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_the_thread_ends_with_the_iteration():
    num_threads = threading.active_count()
    results = prefetch(str, range(9))
    next(results)
    results.close()
    assert threading.active_count() == num_threads
