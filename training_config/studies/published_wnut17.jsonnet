// The published strategies for weights in a CRF on WNUT-17: with the weights of `effective_number`, which did best with
// `chain`, and with those that published_wnut17_choice.jsonnet found best on development data.
// Files: as for wnut17.jsonnet.
(import 'published.libsonnet')(import 'wnut17.jsonnet', 'effective_number', {
  emission: 0.5,
  'emission_transition, from': 0.5,
  'emission_transition, to': 0.5,
  lannoy: 2,
}).rows
