"""Curves that scikit-learn fits: the regression spline, support vectors and the neural network of `models.MODELS`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler
from sklearn.svm import SVR

from cassbook.core.types import Floats
from cassbook.latency.mixing import Predictor
from cassbook.latency.regression import SPLINE_DEGREE, SPLINE_KNOTS

_SEED = 20200908
#: For inputs and results in standard deviations; a search for better ones on a dozen points would fit their noise.
_SVR = {"kernel": "rbf", "C": 100.0, "gamma": 0.5, "epsilon": 0.02}
_NEURONS, _STEPS = 6, 120


@dataclass(frozen=True, slots=True)
class _Learnt:
    """A regressor of scikit-learn as a predictor over threads."""

    regressor: Any

    def predict(self, x: ArrayLike, /) -> Floats:
        at = np.asarray(x, dtype=float)
        return np.asarray(self.regressor.predict(at.reshape(-1, 1)), dtype=float).reshape(at.shape)


def _learn(regressor: Any, points: pd.DataFrame) -> Predictor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # an end by the cap on iterations is an end
        x = points["threads"].to_numpy(dtype=float).reshape(-1, 1)
        return _Learnt(regressor.fit(x, points["latency_us"].to_numpy(dtype=float)))


def spline(points: pd.DataFrame) -> Predictor:
    """Fit a regression spline with its knots at quantiles of the thread counts."""
    knots = np.unique(np.quantile(np.unique(points["threads"]), np.linspace(0, 1, SPLINE_KNOTS)))
    basis = SplineTransformer(degree=SPLINE_DEGREE, knots=knots.reshape(-1, 1), extrapolation="linear")
    return _learn(make_pipeline(basis, LinearRegression(fit_intercept=False)), points)


def support_vectors(points: pd.DataFrame) -> Predictor:
    """Fit support vector regression with a radial kernel."""
    machine = make_pipeline(StandardScaler(), SVR(**_SVR))
    return _learn(TransformedTargetRegressor(machine, transformer=StandardScaler()), points)


def neurons(points: pd.DataFrame) -> Predictor:
    """Fit a neural network of one hidden layer."""
    network = MLPRegressor(
        hidden_layer_sizes=(_NEURONS,),
        activation="tanh",
        solver="lbfgs",
        alpha=1e-3,
        max_iter=_STEPS,
        random_state=_SEED,
    )
    scaled = TransformedTargetRegressor(make_pipeline(StandardScaler(), network), transformer=StandardScaler())
    return _learn(scaled, points)


#: By the short names of `models.MODELS`.
LEARNERS: dict[str, Callable[[pd.DataFrame], Predictor]] = {
    "spline": spline, "svr": support_vectors, "mlp": neurons,
}  # fmt: skip
