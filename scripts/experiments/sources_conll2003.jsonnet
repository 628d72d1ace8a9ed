// Lists, rules and a tagger of another corpus that label CoNLL-2003, somewhat like those of Lison et al. 2020.
// They were written once, by somebody who knows the corpus, and not tuned. measure_rules.py uses them.
// Files: `python scripts/experiments/prepare_lexicons.py`.
local name = "[A-Z][\\w'-]+";
local names = name + '(?: ' + name + ')*';
local lexicon(label, file) = { type: 'lexicon', label: label, file: 'data/lexicons/' + file };
local rule(label, pattern) = { type: 'regular_expression', label: label, pattern: pattern };

{
  sources: {
    cities: lexicon('LOC', 'cities.txt'),
    countries: lexicon('LOC', 'countries.txt'),
    regions: lexicon('LOC', 'regions.txt'),
    peoples: lexicon('MISC', 'peoples.txt'),
    companies: lexicon('ORG', 'companies.txt'),
    bodies: {
      type: 'lexicon',
      label: 'ORG',
      terms: ['EU', 'European Union', 'European Commission', 'NATO', 'OPEC', 'U.N.', 'United Nations', 'World Bank', 'IMF', 'FIFA', 'UEFA', 'Reuters', 'Reuter', 'Congress', 'Parliament', 'Senate', 'Fed'],
    },
    // A first name and what follows it, and later the last name alone.
    full_names: { type: 'file', file: std.extVar('full_names') },
    titles: rule('PER', '(?<=\\b(?:Mr|Mrs|Ms|Dr|President|Minister|Secretary|Chancellor|Senator|King|Queen|Prince|Princess|[J]udge|General|Pope|[Cc]oach|[Cc]aptain|[Ss]pokesman|[Ss]pokeswoman|[Cc]hairman|[Aa]nalyst)\\.? )' + names),
    initials: rule('PER', '\\b(?:[A-Z]\\. ?)+' + name),
    players: rule('PER', name + ' ' + names + '(?= \\( [A-Z][\\w. ]+ \\))'),
    datelines: rule('LOC', "^[A-Z][A-Z .'-]+(?= \\d{4}-\\d\\d-\\d\\d)"),
    firms: rule('ORG', "(?:[A-Z][\\w&'-]* )+(?:Inc|Corp|Co|Ltd|Plc|Group|Bank|AG|SA|Holdings|Industries|Airlines|Securities|Newsroom)\\b"),
    institutions: rule('ORG', '(?:' + name + ' )+(?:Party|Ministry|Council|Committee|Association|Union|Court|Commission|Front|Department|University|Institute|Agency|Federation|Police|Army)\\b|(?:Ministry|Bank|University|Department|House) of ' + names),
    scores: rule('ORG', '^' + names + '(?= \\d+ [A-Z])|(?<=^' + names + ' \\d+ )' + names + '(?= \\d+\\b)'),
    standings: rule('ORG', '^' + names + '(?= \\d+ \\d+ \\d+)'),
    events: rule('MISC', '(?:' + name + " )+(?:Cup|Open|Championships?|Prix|Olympics|Games|Series|War)\\b|(?:World|Davis|European) Cup"),
    adjectives: rule('MISC', '\\b[A-Z][a-z]+(?:ese|ish|ian|ians)\\b'),
    tweets: {
      type: 'tagger',
      archive: std.extVar('tagger'),
      labels: { person: 'PER', location: 'LOC', corporation: 'ORG', group: 'ORG', product: 'MISC', 'creative-work': 'MISC' },
    },
  },
}
