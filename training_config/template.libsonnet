// The template that comes with the package, under the name that earlier configs import.
import '../tagger/template.libsonnet'
