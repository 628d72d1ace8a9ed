import sys

from scripts import prepare_lexicons


def test_the_lists_hold_well_known_names(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["prepare_lexicons.py", "--target", str(tmp_path)])
    prepare_lexicons.main()
    lists = {path.stem: path.read_text().splitlines() for path in tmp_path.iterdir()}
    assert set(lists) == set(prepare_lexicons.LISTS)
    for name, terms in {
        "first_names": ["Maria", "Jürgen", "Jurgen"],
        "last_names": ["Lindqvist", "Smith"],
        "cities": ["Lisbon", "New York City", "São Paulo", "Sao Paulo"],
        "countries": ["Portugal", "Bolivia", "USSR"],
        "regions": ["Texas", "Europe", "Bayern"],
        "peoples": ["Portuguese", "Germans"],
        "companies": ["Siemens", "Volkswagen"],
    }.items():
        assert not set(terms) - set(lists[name]), name
    every = [term for terms in lists.values() for term in terms]
    assert all(len(term) > 1 and term == " ".join(term.split()) for term in every)
    assert lists["cities"] == sorted(set(lists["cities"]))
