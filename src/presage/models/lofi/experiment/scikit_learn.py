"""What the estimators take of scikit-learn, and how to have it where it is not there."""

from __future__ import annotations

from presage.protocol.extras import how_to_install

try:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        RegressorMixin,
        TransformerMixin,
    )
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
except ImportError as missing:
    said = f"LoFiRegressor and LoFiClassifier are estimators of scikit-learn 1.6 or newer. {how_to_install('learn')}."
    raise ImportError(said) from missing

__all__ = [
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "ClassifierMixin",
    "RegressorMixin",
    "TransformerMixin",
    "check_classification_targets",
    "check_is_fitted",
    "check_random_state",
    "column_or_1d",
    "validate_data",
]
