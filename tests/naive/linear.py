"""Leave-one-out predictions of linear models, by fitting one for each row."""

import numpy as np


def fit(design, response, penalties):
    """Return coefficients of ridge regression with a penalty for each column."""
    return np.linalg.lstsq(
        np.vstack([design, np.diag(np.sqrt(penalties))]),
        np.vstack([response, np.zeros((design.shape[1], response.shape[1]))]),
        rcond=None,
    )[0]


def leave_one_out(columns, response, penalty, averaged=None):
    """Return predictions, shape (n_rows, n_responses); columns have unit variance before.

    The column ``averaged`` is predicted with at its mean.
    """
    n_rows = len(columns)
    values = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    design = np.column_stack([np.ones(n_rows), values])
    penalties = np.array([0.0] + [penalty] * values.shape[1])
    predictions = np.empty_like(response)
    for row in range(n_rows):
        known = np.arange(n_rows) != row
        at = design[row].copy()
        if averaged is not None:
            at[1 + averaged] = 0.0
        predictions[row] = at @ fit(design[known], response[known], penalties)
    return predictions


def leave_one_out_beside(columns, feature, permutations, response, penalty):
    """Return predictions of a feature, and of copies, beside what removing all of them leaves.

    Removal and fit see all rows but the one that is predicted. Shape (n_candidates, n_rows,
    n_responses).
    """
    n_rows = len(columns)
    candidates = [columns[:, feature]] + [columns[rows, feature] for rows in permutations]
    others = np.delete(columns, feature, axis=1)
    others = (others - others.mean(axis=0)) / others.std(axis=0)
    removed = np.column_stack([np.ones(n_rows), *candidates])
    predictions = np.empty((len(candidates), *response.shape))
    for row in range(n_rows):
        known = np.arange(n_rows) != row
        slopes = fit(removed[known], others[known], np.zeros(removed.shape[1]))
        rest = others - removed @ slopes
        for number, candidate in enumerate(candidates):
            design = np.column_stack([np.ones(n_rows), candidate, rest])
            penalties = np.array([0.0, 0.0] + [penalty] * rest.shape[1])
            coefficients = fit(design[known], response[known], penalties)
            predictions[number, row] = design[row] @ coefficients
    return predictions
