// The lists that `python scripts/experiments/prepare_lexicons.py` puts into data/lexicons. Add it to a config.
{
  lexicons:: ['first_names', 'last_names', 'cities', 'countries', 'regions', 'peoples', 'companies'],
  lexicon_folder:: 'data/lexicons',
  lowercase_lexicons:: true,
}
