"""What ComAlign's notebooks show: the picture of matching has the library's numbers."""

import torch
from alignbook.core.similarity import fine_grained_matching, unit
from alignbook.papers.comalign import show


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_the_picture_of_matching_has_the_librarys_numbers():
    regions = torch.tensor([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0]])
    phrases = torch.tensor([[4.0, 3.0], [1.0, 5.0]])
    drawn = texts(show.matching(regions.numpy(), phrases.numpy()))
    there, back = fine_grained_matching(unit(regions)[None], unit(phrases)[None])
    assert there.item() != back.item()
    assert f"{there.item():.2f}" in drawn and f"{back.item():.2f}" in drawn
    assert "(B₁, B₂, C, C′)" in drawn and "mean over C′\nEq. 4" in drawn
