"""A random forest in plain Python: lists, recursion, no ranks, no scratch memory."""

from __future__ import annotations

from itertools import pairwise

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(word):
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


class Stream:
    def __init__(self, seed, number):
        self.state = mix((seed + GOLDEN * (number + 1)) & MASK)

    def word(self):
        self.state = (self.state + GOLDEN) & MASK
        return mix(self.state)

    def below(self, bound):
        return ((self.word() >> 32) * bound) >> 32

    def uniform(self):
        return (self.word() >> 11) * 2.0**-53


def draw_among_largest(counts, stream):
    winners = [index for index, count in enumerate(counts) if count == max(counts)]
    return winners[0] if len(winners) == 1 else winners[stream.below(len(winners))]


class Tree:
    """Grow on a table given as a list of columns, and predict the out-of-bag rows.

    ``labels`` is None for regression. ``prune`` leaves out branches that no out-of-bag row reaches.
    With ``rows_per_tree`` only so many of the draws count, and later rows are not used at all. With
    ``is_scored`` only such rows are predicted.
    """

    def __init__(
        self,
        columns,
        response,
        labels,
        n_classes,
        mtry,
        min_node_rows,
        is_random,
        seed,
        number,
        prune=True,
        rows_per_tree=None,
        n_levels=None,
        candidate_of=None,
        is_scored=None,
    ):
        self.candidate_of = candidate_of or [-1] * len(columns)
        self.columns, self.response, self.labels = columns, response, labels
        self.n_classes, self.mtry, self.min_node_rows = n_classes, mtry, min_node_rows
        self.is_random = is_random
        self.stream = Stream(seed, number)
        n_rows = len(columns[0])
        draws = [self.stream.below(n_rows) for _ in range(n_rows)]
        self.weights = [draws[:rows_per_tree].count(row) for row in range(n_rows)]
        self.features = list(range(len(columns)))
        in_bag = [row for row in range(n_rows) if self.weights[row] > 0]
        self.out_of_bag = [
            row
            for row in range(n_rows)
            if row not in draws and (is_scored is None or is_scored[row])
        ]
        if n_levels is not None:
            self.columns = self.arrange_levels(in_bag, n_levels)
        self.predictions = {}
        self.root = self.grow(in_bag, self.out_of_bag, not prune)

    def arrange_levels(self, in_bag, n_levels):
        """Return the columns with categories numbered by the mean response of the tree's rows."""
        marks = self.response
        if self.labels is not None:
            numbers = [self.stream.uniform() for _ in range(self.n_classes)]
            marks = [numbers[label] for label in self.labels]
        arranged = []
        for column, n in zip(self.columns, n_levels, strict=True):
            if n == 0:
                arranged.append(column)
                continue
            sums, weights, total, weight = [0.0] * n, [0] * n, 0.0, 0
            for row in in_bag:
                level = int(column[row])
                sums[level] += self.weights[row] * marks[row]
                weights[level] += self.weights[row]
                total += self.weights[row] * marks[row]
                weight += self.weights[row]
            means = [s / w if w else total / weight for s, w in zip(sums, weights, strict=True)]
            order = sorted(range(n), key=lambda level: means[level])
            arranged.append([float(order.index(int(value))) for value in column])
        return arranged

    def grow(self, rows, out_rows, is_needed):
        if not out_rows and not is_needed:
            return None
        cut = None if self.is_leaf(rows) else self.find_cut(rows)
        if cut is None:
            value = self.leaf_value(rows)
            for row in out_rows:
                self.predictions[row] = value
            return value
        feature, threshold = cut
        is_needed = is_needed or self.candidate_of[feature] >= 0
        column = self.columns[feature]
        sides = []
        for goes in (lambda row: column[row] <= threshold, lambda row: column[row] > threshold):
            left_in, left_out = [r for r in rows if goes(r)], [r for r in out_rows if goes(r)]
            sides.append(self.grow(left_in, left_out, is_needed))
        return feature, threshold, *sides

    def is_leaf(self, rows):
        values = self.response if self.labels is None else self.labels
        weight = sum(self.weights[row] for row in rows)
        return weight <= self.min_node_rows or len({values[row] for row in rows}) == 1

    def leaf_value(self, rows):
        if self.labels is not None:
            return float(draw_among_largest(self.class_counts(rows), self.stream))
        total = 0.0
        for row in rows:
            total += self.weights[row] * self.response[row]
        return total / sum(self.weights[row] for row in rows)

    def class_counts(self, rows):
        counts = [0] * self.n_classes
        for row in rows:
            counts[self.labels[row]] += self.weights[row]
        return counts

    def find_cut(self, rows):
        best, best_quality = None, -1.0
        for draw in range(self.mtry):
            chosen = draw + self.stream.below(len(self.features) - draw)
            self.features[chosen], self.features[draw] = self.features[draw], self.features[chosen]
            feature = self.features[draw]
            for threshold in self.thresholds(feature, rows):
                quality = self.quality(feature, threshold, rows)
                if quality > best_quality:
                    best, best_quality = (feature, threshold), quality
            if best is not None and self.is_perfect(*best, rows):
                break
        return best

    def is_perfect(self, feature, threshold, rows):
        """Return whether both children hold one class, or one row."""
        if self.labels is None:
            return len(rows) == 2
        column = self.columns[feature]
        left = {self.labels[row] for row in rows if column[row] <= threshold}
        right = {self.labels[row] for row in rows if column[row] > threshold}
        return len(left) == len(right) == 1

    def thresholds(self, feature, rows):
        values = sorted({self.columns[feature][row] for row in rows})
        if len(values) == 1:
            return
        if self.is_random:
            fraction = self.stream.uniform()
            threshold = (1.0 - fraction) * values[0] + fraction * values[-1]
            yield values[0] if threshold >= values[-1] else threshold
            return
        for low, high in pairwise(values):
            middle = 0.5 * low + 0.5 * high
            yield low if middle >= high else middle

    def quality(self, feature, threshold, rows):
        column = self.columns[feature]
        left = [row for row in rows if column[row] <= threshold]
        left_weight = sum(self.weights[row] for row in left)
        right_weight = sum(self.weights[row] for row in rows) - left_weight
        if self.labels is None:
            # The sum runs in the order of the column, ties by row, as a scan would meet them.
            order = left if self.is_random else sorted(left, key=lambda row: (column[row], row))
            left_sum = total = 0.0
            for row in order:
                left_sum += self.weights[row] * self.response[row]
            for row in rows:
                total += self.weights[row] * self.response[row]
            right_sum = total - left_sum
            return left_sum * left_sum * (1.0 / left_weight) + right_sum * right_sum * (
                1.0 / right_weight
            )
        left_counts, counts = self.class_counts(left), self.class_counts(rows)
        left_squared = sum(count * count for count in left_counts)
        right_squared = sum((c - lc) ** 2 for c, lc in zip(counts, left_counts, strict=True))
        return left_squared * (1.0 / left_weight) + right_squared * (1.0 / right_weight)

    def predict(self, row_values):
        node = self.root
        while isinstance(node, tuple):
            feature, threshold, left, right = node
            node = left if row_values[feature] <= threshold else right
        return node

    def path_of(self, row):
        """Return the columns that a row is divided by, from the root on."""
        node, path = self.root, []
        while isinstance(node, tuple):
            feature, threshold, left, right = node
            path.append(feature)
            node = left if self.columns[feature][row] <= threshold else right
        return path

    def average_out(self, orders, n_donors, given):
        """Return for each row and candidate on its path the predictions with donors' values.

        ``orders`` holds the rows in the order of each candidate, ``given`` each row's own donors.
        """
        found = {}
        for row in self.out_of_bag:
            met = [self.candidate_of[feature] for feature in self.path_of(row)]
            met = [candidate for candidate in met if candidate >= 0]
            if not met:
                continue
            n_lenders = len(given[row] if given else orders[0])
            first = self.stream.below(n_lenders)
            for candidate in dict.fromkeys(met):
                lenders = given[row] if given else orders[candidate]
                donors = [
                    lenders[(first + number * n_lenders // n_donors) % n_lenders]
                    for number in range(n_donors)
                ]
                found[row, candidate] = [
                    self.predict(
                        [
                            column[donor if of == candidate else row]
                            for column, of in zip(self.columns, self.candidate_of, strict=True)
                        ]
                    )
                    for donor in donors
                ]
        return found


def averaged_changes(
    columns, response, labels, n_classes, orders, n_donors, given, n_trees, **settings
):
    """Return how the summed predictions or votes change when each candidate is averaged out."""
    n_rows = len(columns[0])
    changes = [[[0.0] * max(1, n_classes) for _ in range(n_rows)] for _ in orders]
    for number in range(n_trees):
        tree = Tree(columns, response, labels, n_classes, number=number, **settings)
        for (row, candidate), predictions in tree.average_out(orders, n_donors, given).items():
            own = tree.predictions[row]
            for prediction in predictions:
                if labels is None:
                    changes[candidate][row][0] += (1.0 / n_donors) * (prediction - own)
                else:
                    changes[candidate][row][int(prediction)] += 1.0 / n_donors
                    changes[candidate][row][int(own)] -= 1.0 / n_donors
    return changes


def forest_totals(
    columns,
    response,
    labels,
    n_classes,
    mtry,
    min_node_rows,
    is_random,
    n_trees,
    seed,
    **settings,
):
    """Return the summed predictions or votes and the number of votes of each row."""
    n_rows = len(columns[0])
    totals = [[0.0] * max(1, n_classes) for _ in range(n_rows)]
    n_votes = [0] * n_rows
    for number in range(n_trees):
        tree = Tree(
            columns,
            response,
            labels,
            n_classes,
            mtry,
            min_node_rows,
            is_random,
            seed,
            number,
            **settings,
        )
        for row, prediction in tree.predictions.items():
            n_votes[row] += 1
            if labels is None:
                totals[row][0] += prediction
            else:
                totals[row][int(prediction)] += 1.0
    return totals, n_votes
