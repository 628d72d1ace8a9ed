// The published strategies for weights in a CRF on CrossNER's music domain, with the weights of `effective_number`, and
// with the factors that published_wnut17_choice.jsonnet found on development data of WNUT-17; none were chosen here.
// Files: as for crossner_music.jsonnet.
(import 'published.libsonnet')(import 'crossner_music.jsonnet', 'effective_number', {
  emission: 0.5,
  'emission_transition, from': 0.5,
  'emission_transition, to': 0.5,
  lannoy: 2,
}).rows
