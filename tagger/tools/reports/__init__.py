"""HTML reports with figures: one on a training run, one on a study of class weights."""
