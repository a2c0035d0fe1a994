#!/usr/bin/env python3
"""Hyperparameters of XGBoost (https://xgboost.readthedocs.io) by cross-validation; without it, of scikit-learn's own boosted
trees. usage: xgboost_tuning.py [EVALUATIONS]"""
import sys

import hone.space as ss
from hone import Search

try:
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import cross_val_score
except ImportError:
    sys.exit("skipped: scikit-learn is not installed (pip install scikit-learn)")
try:
    from xgboost import XGBClassifier

    def make(c):
        return XGBClassifier(n_estimators=c["trees"], max_depth=c["depth"], learning_rate=c["rate"], subsample=c["rows"],
                             reg_lambda=c["l2"], n_jobs=1, random_state=0)  # fmt: skip
except ImportError:
    print("xgboost is not installed; HistGradientBoostingClassifier stands in")
    from sklearn.ensemble import HistGradientBoostingClassifier

    def make(c):
        return HistGradientBoostingClassifier(max_iter=c["trees"], max_depth=c["depth"], learning_rate=c["rate"],
                                              l2_regularization=c["l2"], random_state=0)  # fmt: skip


X, y = load_breast_cancer(return_X_y=True)


def error(config):
    return 1 - cross_val_score(make(config), X, y, cv=3).mean()


space = {
    "trees": ss.range(10, 100, 10, default=50),
    "depth": ss.range(2, 8, default=6),
    "rate": ss.log_sampling(0.01, 0.5, default=0.3),
    "rows": ss.range(0.5, 1.0, 0.1, default=1.0),
    "l2": ss.log_sampling(0.01, 10.0, default=1.0),
}
evals = int(sys.argv[1]) if len(sys.argv) > 1 else 40
results = Search(error, space, max_evals=evals, seed=1).start()
default, best = results.trials[0], results.best
print(f"error {default.score:.4f} -> {best.score:.4f} after {len(results)} evaluations: {best.config}")
