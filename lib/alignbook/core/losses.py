"""Losses on a batch's similarity matrix: hinges with hard or all negatives, and InfoNCE.

Everywhere ``similarity`` is (B, B): row i is image i, column j is caption j, and the pairs (i, i)
match. Both directions count: an image against the other captions (along its row) and a caption
against the other images (along its column).
"""

import math

import torch
import torch.nn.functional as F

REDUCTIONS = ("sum", "mean", "none")


def hardest_negative_hinge(similarity, margin, *, image_ids=None, reduction="sum"):
    """Hinge on the hardest negative of the batch, in both directions (CHAN Eq. 9).

    ``sum_i max(0, margin + max_{j != i} s_ij - s_ii) + max(0, margin + max_{j != i} s_ji - s_ii)``

    Parameters
    ----------
    similarity : (B, B) float
        Rows images, columns captions, matching pairs on the diagonal.
    margin : float, (B,) tensor, or a pair of these
        A float holds everywhere. A tensor holds one margin a pair: per row for image to text, per
        column for text to image. A pair ``(row_margin, column_margin)`` gives the two directions
        their own.
    image_ids : (B,) tensor or list, optional
        Which image each pair belongs to: pairs of one image are never each other's negatives.
        None means that all images differ.
    reduction : "sum", "mean" or "none"
        Over the B pairs; "none" gives (B,), both directions of pair i added. A pair without any
        negative contributes 0.

    Returns
    -------
    () or (B,) float

    Raises
    ------
    ValueError
        For shapes that do not fit and an unknown reduction.

    Examples
    --------
    >>> similarity = torch.tensor([[0.9, 0.8], [0.2, 0.5]])
    >>> hardest_negative_hinge(similarity, 0.2, reduction="none")   # [0.1 + 0, 0 + 0.5]
    tensor([0.1000, 0.5000])
    """
    negative = _negatives(similarity, image_ids)
    row_margin, column_margin = _margins(margin, similarity)
    positive = similarity.diagonal()
    candidates = similarity.masked_fill(~negative, -math.inf)  # no negative: hinge of -inf is 0
    image_to_text = torch.relu(row_margin + candidates.max(dim=1).values - positive)
    text_to_image = torch.relu(column_margin + candidates.max(dim=0).values - positive)
    return _reduce(image_to_text + text_to_image, reduction)


def all_negatives_hinge(similarity, margin, *, image_ids=None, reduction="sum"):
    """Hinge on every negative of the batch, in both directions: the usual warm-up for the hardest.

    ``sum_i sum_{j != i} max(0, margin + s_ij - s_ii) + max(0, margin + s_ji - s_ii)``. The sum over
    negatives is divided by nothing, so the loss grows with the batch.

    Parameters, returned value and errors are those of `hardest_negative_hinge`.

    Examples
    --------
    >>> similarity = torch.tensor([[0.9, 0.8], [0.2, 0.5]])
    >>> all_negatives_hinge(similarity, 0.2)
    tensor(0.6000)
    """
    negative = _negatives(similarity, image_ids)
    row_margin, column_margin = _margins(margin, similarity)
    positive = similarity.diagonal()
    image_to_text = torch.relu(row_margin[:, None] + similarity - positive[:, None])
    text_to_image = torch.relu(column_margin[None, :] + similarity - positive[None, :])
    per_pair = image_to_text.masked_fill(~negative, 0).sum(dim=1) + text_to_image.masked_fill(
        ~negative, 0
    ).sum(dim=0)
    return _reduce(per_pair, reduction)


def info_nce(similarity, *, temperature=1.0, image_ids=None):
    """Contrastive cross-entropy (InfoNCE), the mean of both directions.

    ``-1/2 mean_i [log softmax_j(s_ij / temperature)_i + log softmax_j(s_ji / temperature)_i]``

    Parameters
    ----------
    similarity : (B, B) float
        Rows images, columns captions, matching pairs on the diagonal.
    temperature : float or scalar tensor
        Positive; a tensor may be learnt (its sign is then the caller's care).
    image_ids : (B,) tensor or list, optional
        Other pairs of the same image are left out of the denominators; the pair itself never is.

    Returns
    -------
    () float

    Raises
    ------
    ValueError
        For shapes that do not fit and a temperature that is not positive.

    Examples
    --------
    >>> info_nce(torch.zeros(4, 4))                                  # log 4
    tensor(1.3863)
    """
    negative = _negatives(similarity, image_ids)
    if isinstance(temperature, torch.Tensor):
        if temperature.numel() != 1:
            raise ValueError(f"temperature must be one number, not {tuple(temperature.shape)}")
        temperature = temperature.reshape(())
    elif not temperature > 0:
        raise ValueError(f"temperature must be positive, not {temperature}")
    target = torch.arange(len(similarity), device=similarity.device)
    other_pair = ~negative
    other_pair.fill_diagonal_(False)
    logits = (similarity / temperature).masked_fill(other_pair, -math.inf)
    return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2


def _negatives(similarity, image_ids):
    """Which entries are negatives, (B, B) bool: pairs of different images. Checks the shapes."""
    if similarity.ndim != 2 or similarity.shape[0] != similarity.shape[1] or not len(similarity):
        raise ValueError(
            "similarity must be square, (B, B) with a matching pair at each diagonal "
            f"entry, not of shape {tuple(similarity.shape)}"
        )
    size = len(similarity)
    if image_ids is None:
        return ~torch.eye(size, dtype=torch.bool, device=similarity.device)
    image_ids = torch.as_tensor(image_ids, device=similarity.device)
    if image_ids.shape != (size,):
        raise ValueError(
            f"image_ids must be {size} ids, one a pair, not of shape {tuple(image_ids.shape)}"
        )
    return image_ids[:, None] != image_ids[None, :]


def _margins(margin, similarity):
    """The margins of the rows and of the columns, each (B,)."""
    pair = margin if isinstance(margin, tuple | list) else (margin, margin)
    if len(pair) != 2:
        raise ValueError(f"margin must be one value or a (row, column) pair, not {len(pair)}")
    size = len(similarity)
    margins = []
    for value in pair:
        value = torch.as_tensor(value, dtype=similarity.dtype, device=similarity.device)
        if value.shape not in ((), (size,)):
            raise ValueError(
                f"a margin must be one number or {size}, one a pair, "
                f"not of shape {tuple(value.shape)}"
            )
        margins.append(value.expand(size))
    return margins


def _reduce(per_pair, reduction):
    if reduction not in REDUCTIONS:
        raise ValueError(f"unknown reduction {reduction!r}; known: {', '.join(REDUCTIONS)}")
    if reduction == "none":
        return per_pair
    return per_pair.sum() if reduction == "sum" else per_pair.mean()
