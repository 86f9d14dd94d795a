import pytest
import torch

from clgnn.collective.masking import choose_mask, draw_mask


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.99, 1.0])
def test_a_mask_shows_its_share_and_hides_one_at_least(share):
    observed = torch.arange(20) % 2 == 0
    mask = draw_mask(observed, share, generator())
    assert bool((mask & ~observed).sum() == 0)
    assert int(mask.sum()) == min(round(share * 10), 9)


def test_every_label_is_shown_equally_often():
    observed = torch.arange(12) < 8
    random = generator()
    counts = sum(draw_mask(observed, 0.5, random).int() for _ in range(4000))
    assert torch.allclose(counts[:8] / 4000, torch.tensor(0.5), atol=0.04)
    assert int(counts[8:].sum()) == 0


def test_masks_differ_from_step_to_step_and_follow_the_seed():
    observed = torch.ones(30, dtype=torch.bool)
    random = generator()
    first, second = draw_mask(observed, 0.5, random), draw_mask(observed, 0.5, random)
    assert not torch.equal(first, second)
    assert torch.equal(first, draw_mask(observed, 0.5, generator()))


def test_one_label_is_a_target():
    assert int(draw_mask(torch.tensor([False, True]), 0.9, generator()).sum()) == 0


def test_a_given_set_of_masks_is_drawn_from_and_shows_only_what_is_observed():
    masks = torch.eye(4, dtype=torch.bool)
    observed = torch.tensor([True, True, True, False])
    random = generator()
    seen = torch.stack([choose_mask(masks, observed, random) for _ in range(200)])
    assert bool((seen.sum(1) <= 1).all())
    assert seen.any(0).tolist() == observed.tolist()
