"""The recurrent unit in few calls: PyTorch's own, number for number and gradient for gradient."""

import pytest
import torch
from alignbook.core import gru
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

LENGTHS = torch.tensor([3, 6, 1, 6, 2])


def theirs(layer, vectors, lengths):
    """States of PyTorch's unit, one sequence at a time and without padding: `(S, B, L, d)`."""
    ways = 2 if layer.bidirectional else 1
    rows = []
    for row, n in zip(vectors, lengths):
        own = layer(row[None, :n])[0][0].unflatten(1, (ways, -1))
        rows.append(nn.functional.pad(own, (0, 0, 0, 0, 0, vectors.shape[1] - int(n))))
    return torch.stack(rows).permute(2, 0, 1, 3)


@pytest.mark.parametrize("both", [True, False])
def test_states_and_gradients_are_those_of_pytorch(both):
    torch.manual_seed(0)
    layer = nn.GRU(4, 5, batch_first=True, bidirectional=both).double()
    vectors = torch.randn(5, 7, 4, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(1 + both, 5, 7, 5, dtype=torch.float64)
    known = [vectors, *layer.parameters()]
    found, expected = (way(layer, vectors, LENGTHS) for way in (gru.states, theirs))
    assert found.shape == weights.shape and torch.allclose(found, expected, atol=1e-12)
    gradients = [torch.autograd.grad((each * weights).sum(), known) for each in (found, expected)]
    for name, one, other in zip(["vectors", *dict(layer.named_parameters())], *gradients):
        assert torch.allclose(one, other, atol=1e-12), name


def test_what_stands_behind_the_end_never_counts():
    torch.manual_seed(0)
    layer, vectors = nn.GRU(4, 5, batch_first=True, bidirectional=True), torch.randn(5, 6, 4)
    other = vectors.clone()
    for row, n in enumerate(LENGTHS):
        other[row, n:] = torch.nan
    with torch.no_grad():
        found, again = (gru.states(layer, each, LENGTHS) for each in (vectors, other))
    assert torch.equal(found, again)
    assert not found[:, 2, 1:].any() and found[:, 1].all()


def test_a_gpu_takes_pytorchs_own(monkeypatch):
    torch.manual_seed(0)
    layer, vectors = nn.GRU(4, 5, batch_first=True, bidirectional=True), torch.randn(5, 7, 4)
    expected = gru.states(layer, vectors, LENGTHS)
    packed = pack_padded_sequence(vectors, LENGTHS, batch_first=True, enforce_sorted=False)
    whole = pad_packed_sequence(layer(packed)[0], batch_first=True, total_length=7)[0]
    found = gru.on_gpu(layer, vectors, LENGTHS)
    assert torch.allclose(found, expected, atol=1e-6)
    assert torch.equal(found, whole.unflatten(2, (2, 5)).permute(2, 0, 1, 3))
