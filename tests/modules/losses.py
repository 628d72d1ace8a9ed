"""Every loss with settings, and its formula in plain Python, one number at a time.

A formula takes the scores and the gold tag or labels of each known item and returns a loss for each.
"""

import math

import torch

from tagger.modules import MultiLabelLoss, TokenLoss
from tagger.modules.counted_multi_label_losses import CountedLoss
from tests.linear_chain.chains import mask_of, random_tags

WEIGHTS = [0.5, 2.0, 3.0]
TAG_COUNTS = [30, 5, 2]
# The first count is too large for half precision.
LABEL_COUNTS, NUM_ITEMS = [5001, 7, 1], 10_007
TAKES_WEIGHTS = ["cross_entropy", "dice", "focal"]


def softmax(scores):
    total = sum(math.exp(score) for score in scores)
    return [math.exp(score) / total for score in scores]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def _cross_entropy(scores, y, label_smoothing=0.0):
    p = softmax(scores)
    target = [label_smoothing / len(p) + (1 - label_smoothing) * (k == y) for k in range(len(p))]
    return -WEIGHTS[y] * sum(mass * math.log(q) for mass, q in zip(target, p))


def _focal_of_tag(scores, y, gamma=2.0):
    p = softmax(scores)[y]
    return -WEIGHTS[y] * (1 - p) ** gamma * math.log(p)


def _class_balanced(scores, y, gamma=0.0, beta=0.999):
    raw = [(1 - beta) / (1 - beta**count) for count in TAG_COUNTS]
    mean = sum(count * weight for count, weight in zip(TAG_COUNTS, raw)) / sum(TAG_COUNTS)
    return raw[y] / mean * _focal_of_tag(scores, y, gamma) / WEIGHTS[y]


def _logit_adjusted(scores, y, tau=1.0):
    priors = [count / sum(TAG_COUNTS) for count in TAG_COUNTS]
    return -math.log(softmax([s + tau * math.log(q) for s, q in zip(scores, priors)])[y])


def _dice(items, alpha=0.0, smoothing=1.0, of_each_token=False):
    q = [[(1 - p) ** alpha * p for p in softmax(scores)] for scores, _ in items]
    losses = []
    for i, (row, (_, y)) in enumerate(zip(q, items)):
        of_tags = []
        for k in range(3):
            among = [i] if of_each_token else range(len(items))
            size = smoothing + sum(q[j][k] ** 2 + (items[j][1] == k) for j in among)
            of_tags.append((row[k] - (y == k)) ** 2 / size)
        losses.append(WEIGHTS[y] * sum(of_tags) * (1 if of_each_token else len(items)))
    return losses


def of_tags(formula):
    return lambda items, **settings: [formula(scores, y, **settings) for scores, y in items]


def focal(z, y, gamma=2.0, **_):
    q = sigmoid(z if y else -z)
    return -((1 - q) ** gamma) * math.log(q)


def _negative_tolerant(z, y, i, kappa=0.05, negative_scale=2.0, gamma=2.0, **_):
    s = z - kappa * math.log(NUM_ITEMS / LABEL_COUNTS[i] - 1)
    return focal(s, y, gamma) if y else focal(negative_scale * s, y, gamma) / negative_scale


def _asymmetric(z, y, positive_gamma=0.0, negative_gamma=4.0, margin=0.05):
    if y:
        return focal(z, y, positive_gamma)
    r = max(sigmoid(z) - margin, 0)
    return -(r**negative_gamma) * math.log(1 - r)


def _hill(z, y, steepness=1.5, margin=1.0, gamma=2.0):
    p = sigmoid(z)
    return focal(z - margin, y, gamma) if y else (steepness - p) * p**2


def _balanced(i, all_gold, beta=0.9, mode="by_class", **_):
    def weight(count):
        return (1 - beta) / (1 - beta**count)

    counts = [count for count, y in zip(LABEL_COUNTS, all_gold) if y == 1]
    if mode == "by_class" or not counts:
        return weight(LABEL_COUNTS[i])
    if mode == "average_w":
        return sum(map(weight, counts)) / len(counts)
    return weight(min(counts) if mode == "min_n" else sum(counts) / len(counts))


def _rebalanced(i, all_gold, alpha=0.1, beta=10.0, mu=0.9, **_):
    drawn = sum(1 / LABEL_COUNTS[j] for j, y in enumerate(all_gold) if y == 1)
    r = 1 / LABEL_COUNTS[i] / drawn if drawn else 1
    return alpha + sigmoid(beta * (r - mu))


def of_labels(formula):
    """Sums a formula of score, gold label, index and all gold labels over the known labels."""
    return lambda items, **settings: [
        sum(formula(z, y, i, ys, **settings) for i, (z, y) in enumerate(zip(zs, ys)) if y >= 0)
        for zs, ys in items
    ]


def _ranking(items):
    return [
        math.log(1 + sum(math.exp(-z) for z, y in zip(zs, ys) if y == 1))
        + math.log(1 + sum(math.exp(z) for z, y in zip(zs, ys) if y == 0))
        for zs, ys in items
    ]


OF_TAGS = {
    "cross_entropy": of_tags(_cross_entropy),
    "focal": of_tags(_focal_of_tag),
    "class_balanced": of_tags(_class_balanced),
    "dice": _dice,
    "logit_adjusted": of_tags(_logit_adjusted),
}
OF_LABELS = {
    "zero_bounded_ranking": _ranking,
    **{
        name: of_labels(formula)
        for name, formula in {
            "binary_cross_entropy": lambda z, y, i, ys: focal(z, y, gamma=0),
            "focal": lambda z, y, i, ys, alpha=None, **kw: (
                focal(z, y, **kw) * (1 if alpha is None else alpha if y else 1 - alpha)
            ),
            "asymmetric": lambda z, y, i, ys, **kw: _asymmetric(z, y, **kw),
            "hill": lambda z, y, i, ys, **kw: _hill(z, y, **kw),
            # Before the correction starts.
            "self_paced_correction": lambda z, y, i, ys, threshold=0.6, margin=1.0, **kw: focal(
                z - margin if y else z, y, **kw
            ),
            "class_balanced_focal": lambda z, y, i, ys, **kw: (
                _balanced(i, ys, **kw) * focal(z, y, **kw)
            ),
            "rebalanced_focal": lambda z, y, i, ys, **kw: (
                _rebalanced(i, ys, **kw) * focal(z, y, **kw)
            ),
            "negative_tolerant": lambda z, y, i, ys, **kw: _negative_tolerant(z, y, i, **kw),
            "distribution_balanced": lambda z, y, i, ys, **kw: (
                _rebalanced(i, ys, **kw) * _negative_tolerant(z, y, i, **kw)
            ),
            "class_balanced_negative_tolerant": lambda z, y, i, ys, **kw: (
                _balanced(i, ys, **kw) * _negative_tolerant(z, y, i, **kw)
            ),
        }.items()
    },
}
FORMULAS = {TokenLoss: OF_TAGS, MultiLabelLoss: OF_LABELS}
_TOLERANT = {"kappa": 0.3, "negative_scale": 3.5}
_REBALANCED = {"alpha": 0.4, "beta": 3.0, "mu": 0.2}
#: The base class, the name and the settings of each tested loss.
CASES = [
    *((base, name, {}) for base in FORMULAS for name in sorted(base.list_available())),
    (TokenLoss, "cross_entropy", {"label_smoothing": 0.2}),
    (TokenLoss, "focal", {"gamma": 1.5}),
    (TokenLoss, "class_balanced", {"gamma": 0.5, "beta": 0.9}),
    (TokenLoss, "dice", {"alpha": 0.3, "smoothing": 0.7}),
    (TokenLoss, "dice", {"alpha": 0.3, "smoothing": 0.7, "of_each_token": True}),
    (TokenLoss, "logit_adjusted", {"tau": 1.3}),
    (MultiLabelLoss, "focal", {"gamma": 0.7, "alpha": 0.3}),
    (MultiLabelLoss, "asymmetric", {"positive_gamma": 1.0, "negative_gamma": 0.5, "margin": 0.2}),
    (MultiLabelLoss, "asymmetric", {"margin": 0.0}),
    (MultiLabelLoss, "hill", {"steepness": 1.0, "margin": 0.5, "gamma": 0.3}),
    (MultiLabelLoss, "self_paced_correction", {"gamma": 0.7, "margin": 0.5, "threshold": 0.3}),
    (MultiLabelLoss, "class_balanced_focal", {"gamma": 1.5, "beta": 0.999}),
    *(
        (MultiLabelLoss, "class_balanced_focal", {"beta": 0.99, "mode": mode})
        for mode in ("average_n", "average_w", "min_n")
    ),
    (MultiLabelLoss, "rebalanced_focal", {"gamma": 0.5, **_REBALANCED}),
    (MultiLabelLoss, "negative_tolerant", {"gamma": 1.0, **_TOLERANT}),
    (MultiLabelLoss, "distribution_balanced", {**_REBALANCED, **_TOLERANT}),
    (MultiLabelLoss, "class_balanced_negative_tolerant", {"beta": 0.99, **_TOLERANT}),
]


def counts_for(base, name):
    """Returns the training counts that a loss needs, as arguments."""
    if base is MultiLabelLoss and issubclass(base.by_name(name), CountedLoss):
        return {"label_counts": LABEL_COUNTS, "num_items": NUM_ITEMS}
    return {"tag_counts": TAG_COUNTS} if name in ("class_balanced", "logit_adjusted") else {}


def make(base, name, **settings):
    """Creates a loss, with tag weights where it accepts them."""
    weights = {"tag_weights": WEIGHTS} if base is TokenLoss and name in TAKES_WEIGHTS else {}
    return base.by_name(name)(**{**counts_for(base, name), **weights, **settings}).double()


def batch_of(base):
    """Returns scores, partly unknown gold tags or labels, and the mask."""
    if base is TokenLoss:
        gold_tags = random_tags(3, 4, 3)
        gold_tags[0, 1] = gold_tags[2, 0] = -1
        scores = (torch.randn(3, 4, 3, dtype=torch.float64) * 2).requires_grad_()
        return scores, gold_tags, mask_of([4, 1, 3])
    # Items with several labels, one, none, and unknown ones.
    of_first = [[1, 0, 1], [0, 1, 0], [0, 0, 0], [1, -1, 0]]
    of_second = [[-1, 0, 1], [0, -1, 0], [-1, -1, -1], [1, 1, 1]]
    scores = (3 * torch.randn(2, 4, 3, dtype=torch.float64)).requires_grad_()
    return scores, torch.tensor([of_first, of_second]), mask_of([4, 3], 4)


def are_counted(base, gold, mask):
    """Returns which scores count, (..., 3) bool."""
    known = (gold >= 0) & (mask if gold.dim() == mask.dim() else mask.unsqueeze(-1))
    return known.unsqueeze(-1).expand(*known.shape, 3) if base is TokenLoss else known


def learnt_share(loss):
    """The learnt probability of tag 1 if all tokens look alike and a third of them have it.

    The loss takes scores, (1, 9, 2), and gold tags, (1, 9).
    """
    gold_tags = torch.tensor([[0, 0, 1, 0, 1, 0, 0, 0, 1]])
    scores = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([scores], max_iter=50)

    def step():
        optimizer.zero_grad()
        value = loss(scores.expand(1, 9, 2), gold_tags).sum()
        value.backward()
        return value

    optimizer.step(step)
    return float(scores.softmax(0)[1].detach())
