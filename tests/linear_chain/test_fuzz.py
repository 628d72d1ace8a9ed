import pytest

from tests.linear_chain import fuzz
from tests.linear_chain.fuzzed_problems import Problem, inf, nan, random_problem


@pytest.mark.slow
def test_random_problems_equal_enumeration(pytestconfig):
    num_problems, seed = pytestconfig.getoption("problems"), pytestconfig.getoption("seed")
    counts, first = fuzz.counted(fuzz.fuzz(num_problems, seed))
    unknown = [mismatch for mismatch in first.values() if not mismatch.is_known()]
    numbers = "\n".join(f"{counts[mismatch.kind]:6}  {mismatch.kind}" for mismatch in unknown)
    details = "\n\n".join(str(mismatch.shrunk()) for mismatch in unknown)
    assert not unknown, f"--problems {num_problems} --seed {seed}:\n{numbers}\n\n{details}"


def test_the_same_seed_gives_the_same_problems():
    assert [repr(random_problem(seed)) for seed in range(9)] == [
        repr(random_problem(seed)) for seed in range(9)
    ]


def test_a_problem_is_what_its_text_says():
    names = {"Problem": Problem, "inf": inf, "nan": nan}
    for seed in range(20):
        text = repr(random_problem(seed))
        assert repr(eval(text, names)) == text


def test_a_wrong_answer_is_found_and_shrunk(monkeypatch):
    marginals = fuzz.QUESTIONS["tag_marginals"]

    def wrong(problem, rng):
        question = marginals(problem, rng)
        return question._replace(call=lambda scores: question.call(scores) * 1.01)

    monkeypatch.setattr(fuzz, "QUESTIONS", {"tag_marginals": wrong})
    monkeypatch.setattr(fuzz, "CHOICES", {})
    monkeypatch.setattr(fuzz, "CHECKS_PER_PROBLEM", 1)
    monkeypatch.setattr(fuzz, "HAS_TRITON", False)
    _, first = fuzz.counted(fuzz.fuzz(20, seed=1))
    found = first["tag_marginals, reference: value: wrong number"].shrunk()
    assert found.problem.size[:2] == (1, 1)
    assert "seed" in str(found)
