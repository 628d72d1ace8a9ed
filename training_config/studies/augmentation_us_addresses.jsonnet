// Augmentation on US addresses, with three of the five seeds of us_addresses.jsonnet.
// Files: as there.
(import 'augmentation.libsonnet')(import 'us_addresses.jsonnet')
