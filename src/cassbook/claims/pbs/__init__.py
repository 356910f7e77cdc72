"""The study with ccm and the PBS predictor."""
