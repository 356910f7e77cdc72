"""What the ccm study asks: its pairs of R and W, and its figures over versions."""

#: R and W in the order of its Figure 1.
SETTINGS = ((1, 3), (2, 2), (3, 1), (1, 2), (2, 1), (1, 1))
#: R and W in which it asks its predictor.
WEAK = ((1, 2), (2, 1), (1, 1))
#: Its Figure 3.
VERSIONS_AT_MS, MOST_VERSIONS = 100.0, 10
