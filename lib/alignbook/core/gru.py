"""A gated recurrent unit in few calls, with the weights of PyTorch's.

On a CPU a short sequence of narrow states takes more time for its calls than for its products.
Here both directions take a step in one call, padding is left out, and the gradient needs four calls
a step. A GPU has a unit of its own.
"""

import torch
from torch import nn
from torch.autograd.function import once_differentiable
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from alignbook.core.precision import in_float32


@in_float32  # a recurrence adds up what it rounds
def states(gru: nn.GRU, vectors: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """States of sequences that begin from zeros, in each direction.

    Parameters
    ----------
    gru : of one layer, one or two directions, `batch_first`.
    vectors : (B, L, D) float
    lengths : (B,) int64, within 1…L: what follows never counts.

    Returns
    -------
    (S, B, L, d) float for S directions, zeros after a sequence's end.
    """
    if vectors.is_cuda:
        return on_gpu(gru, vectors, lengths)
    b, most, _ = vectors.shape
    lengths, order = lengths.to("cpu").sort(descending=True, stable=True)
    real = torch.arange(int(lengths[0]))[:, None] < lengths
    place, rank = real.nonzero(as_tuple=True)  # a step's sequences side by side, the longest first
    first = order[rank] * most
    ways = ["", "_reverse"][: 1 + gru.bidirectional]
    at = torch.stack([first + place, first + lengths[rank] - 1 - place][: len(ways)])
    weight_in, weight, bias_in, bias = (
        torch.stack([getattr(gru, f"{name}_l0{way}") for way in ways])
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    read = vectors.flatten(0, 1).index_select(0, at.flatten()).unflatten(0, at.shape)
    inner = torch.baddbmm(bias_in[:, None], read, weight_in.mT)
    found = Steps.apply(inner, weight, bias, real.sum(1).tolist())
    rows = (at + torch.arange(len(ways))[:, None] * b * most).flatten()
    empty = found.new_zeros(len(ways) * b * most, found.shape[2])
    return empty.index_copy(0, rows, found.flatten(0, 1)).view(len(ways), b, most, -1)


def on_gpu(gru: nn.GRU, vectors: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """`states` by PyTorch's own unit."""
    packed = pack_padded_sequence(vectors, lengths.cpu(), batch_first=True, enforce_sorted=False)
    found = pad_packed_sequence(gru(packed)[0], batch_first=True, total_length=vectors.shape[1])[0]
    return found.unflatten(2, (-1, gru.hidden_size)).permute(2, 0, 1, 3)


class Steps(torch.autograd.Function):
    """The recurrence of S directions, all of whose N states lie step by step.

    With gates r and z of inner and own shares, n = tanh(i_n + r (W_n h + b_n)) and
    h' = (1 − z) n + z h. Takes what the inputs give `(S, N, 3d)`, W `(S, 3d, d)`, b `(S, 3d)`, the
    number of sequences of each step, which never grows; returns h' `(S, N, d)`.
    """

    @staticmethod
    def forward(ctx, inner, weight, bias, counts):
        d, begin = weight.shape[2], 0
        found, before, own_new = (inner.new_empty(*inner.shape[:2], d) for _ in range(3))
        gates, h = torch.empty_like(inner), inner.new_zeros(len(inner), counts[0], d)
        for n in counts:
            part = slice(begin, begin + n)
            h, given, gate = h[:, :n], inner[:, part], gates[:, part]
            own = torch.baddbmm(bias[:, None], h, weight.mT)
            both, new = gate[..., : 2 * d], gate[..., 2 * d :]
            torch.add(given[..., : 2 * d], own[..., : 2 * d], out=both).sigmoid_()
            torch.addcmul(given[..., 2 * d :], gate[..., :d], own[..., 2 * d :], out=new).tanh_()
            before[:, part], own_new[:, part] = h, own[..., 2 * d :]
            h = torch.lerp(new, h, gate[..., d : 2 * d], out=found[:, part])
            begin += n
        ctx.save_for_backward(gates, before, own_new, weight)
        ctx.counts = counts
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        gates, before, own_new, weight = ctx.saved_tensors
        reset, keep, new = gates.chunk(3, dim=2)
        of_new = (1 - keep) * (1 - new.square())
        of_reset = of_new * own_new * reset * (1 - reset)
        of_keep = keep * (1 - keep) * (before - new)
        of_own = torch.stack((of_reset, of_keep, of_new * reset), dim=2)  # (S, N, 3, d)
        grad, end = grad.clone(), grad.shape[1]
        carried = None
        for n in reversed(ctx.counts):
            part = slice(end - n, end)
            here = grad[:, part]
            if carried is not None:
                here[:, : carried.shape[1]] += carried
            own = (of_own[:, part] * here[:, :, None]).flatten(2)
            carried = torch.baddbmm(here * keep[:, part], own, weight)
            end -= n
        own = (of_own * grad[:, :, None]).flatten(2)
        inner = torch.cat((own[..., : -new.shape[2]], of_new * grad), dim=2)
        return inner, own.mT @ before, own.sum(1), None
