"""Labels from several sources: annotators, models, rules and lists become one training set."""
