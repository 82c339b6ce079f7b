"""Measures of dependence by their definitions: lists, loops over pairs, exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product
from statistics import fmean, pstdev

EULER = 0.57721566490153286061


def scaled(rows):
    columns = [[value / pstdev(column) for value in column] for column in zip(*rows, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def indicators(labels):
    return [[float(label == one) for label in labels] for one in sorted(set(labels))]


def nearest_others(rows):
    """Return for each row the list of all rows nearest to it."""
    answer = []
    for i, row in enumerate(rows):
        distances = {j: math.dist(row, other) for j, other in enumerate(rows) if j != i}
        nearest = min(distances.values())
        answer.append([j for j, d in distances.items() if math.isclose(d, nearest, rel_tol=1e-9)])
    return answer


def azadkia_chatterjee(rows, responses):
    """Return T, in the mean over all ways to choose one of the nearest rows.

    ``responses`` is one response, or the indicators of all classes.
    """
    n, neighbours, q, s = len(rows), nearest_others(rows), 0.0, 0.0
    for y in responses:
        below = [sum(other <= own for other in y) for own in y]
        above = [sum(other >= own for other in y) for own in y]
        for i in range(n):
            q += fmean(min(below[i], below[j]) for j in neighbours[i]) / n - (above[i] / n) ** 2
            s += above[i] * (n - above[i]) / n**2
    return q / s


def psi(count):
    """Return the digamma function of a whole number."""
    return -EULER + sum(1.0 / term for term in range(1, count))


def gap(one, other):
    return max(abs(a - b) for a, b in zip(one, other, strict=True))


def mutual_information(rows, response, k, *, has_classes):
    """Return the information in nats: Kraskov et al., Ross for classes, Gao et al. for ties.

    Rows and response are taken in their units.
    """

    def response_gap(one, other):
        if has_classes:
            return 0.0 if one == other else math.inf
        return abs(one - other)

    n, terms = len(rows), []
    for i in range(n):
        in_columns = [gap(rows[i], row) for row in rows]
        in_response = [response_gap(response[i], other) for other in response]
        in_both = [max(pair) for pair in zip(in_columns, in_response, strict=True)]
        reachable = sorted(d for j, d in enumerate(in_both) if j != i and d < math.inf)
        near = min(k, len(reachable))
        radius = reachable[near - 1]
        if radius == 0.0:
            near = in_both.count(0.0)
            counts = in_columns.count(0.0), in_response.count(0.0)
        else:
            counts = tuple(
                sum(d < radius and not math.isclose(d, radius, rel_tol=1e-9) for d in distances)
                for distances in (in_columns, in_response)
            )
        terms.append(psi(near) - psi(counts[0]) - psi(counts[1]))
    return psi(n) + fmean(terms)


def mass_in_bins(column, n_bins):
    """Return for each row its mass in each bin: even over the ranks of its ties."""
    n, answer = len(column), []
    for value in column:
        low = Fraction(sum(other < value for other in column), n)
        high = Fraction(sum(other <= value for other in column), n)
        edges = [Fraction(edge, n_bins) for edge in range(n_bins + 1)]
        answer.append(
            [
                max(Fraction(0), min(high, edges[b + 1]) - max(low, edges[b])) / (high - low)
                for b in range(n_bins)
            ]
        )
    return answer


def cell_weights(rows, n_bins):
    """Return for each cell of the columns the weight of each row in it, empty cells left out."""
    masses = [mass_in_bins(column, n_bins) for column in zip(*rows, strict=True)]
    cells = []
    for cell in product(range(n_bins), repeat=len(masses)):
        weights = [
            math.prod(of_row[i][b] for of_row, b in zip(masses, cell, strict=True))
            for i in range(len(rows))
        ]
        if any(weights):
            cells.append(weights)
    return cells


def distance_from_even(knots):
    """Return the integral of |F(y) - y| for F straight between knots (y, F(y))."""
    total = Fraction(0)
    for (y0, f0), (y1, f1) in pairwise(knots):
        left, right, width = f0 - y0, f1 - y1, y1 - y0
        if left * right >= 0:
            total += width * abs(left + right) / 2
        else:
            zero = width * left / (left - right)
            total += (abs(left) * zero + abs(right) * (width - zero)) / 2
    return total


def zeta_1(rows, response, n_bins):
    """Return three times the mean distance over the checkerboard of all variables."""
    of_response = mass_in_bins(response, n_bins)
    total = Fraction(0)
    for weights in cell_weights(rows, n_bins):
        mass, risen, knots = sum(weights), Fraction(0), [(Fraction(0), Fraction(0))]
        for b in range(n_bins):
            risen += (
                sum(w * of_row[b] for w, of_row in zip(weights, of_response, strict=True)) / mass
            )
            knots.append((Fraction(b + 1, n_bins), risen))
        total += mass * distance_from_even(knots)
    return float(3 * total / len(rows))


def zeta_1_of_classes(rows, labels, n_bins):
    """Return zeta_1 of each indicator by that of the indicator on itself, weighted by p (1 - p)."""
    n = len(rows)

    def of_indicator(cells, is_in):
        others = Fraction(n - sum(is_in), n)
        total = Fraction(0)
        for weights in cells:
            mass = sum(weights)
            outside = sum(w for w, flag in zip(weights, is_in, strict=True) if not flag) / mass
            knots = [(Fraction(0), Fraction(0)), (others, outside), (Fraction(1), Fraction(1))]
            total += mass * distance_from_even(knots)
        return 3 * total / n

    cells, answer, total_weight = cell_weights(rows, n_bins), Fraction(0), Fraction(0)
    for one in sorted(set(labels)):
        is_in = [label == one for label in labels]
        own_cells = [[Fraction(flag) for flag in is_in], [Fraction(not flag) for flag in is_in]]
        rate = Fraction(sum(is_in), n)
        weight = rate * (1 - rate)
        answer += weight * of_indicator(cells, is_in) / of_indicator(own_cells, is_in)
        total_weight += weight
    return float(answer / total_weight)
