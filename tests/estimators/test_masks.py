import pytest
import torch

from clgnn.estimators.masks import POOL, prediction_masks, step_masks

OBSERVED = torch.arange(30) < 20


def test_each_sample_of_a_prediction_has_a_mask_of_its_own():
    (masks,) = prediction_masks(OBSERVED, 0.5, None, num_samples=8, seed=0)
    assert masks.shape == (30, 8)
    assert len({tuple(column.tolist()) for column in masks.T}) == 8
    assert masks.sum(dim=0).tolist() == [10] * 8
    assert not bool(masks[20:].any())
    (again,) = prediction_masks(OBSERVED, 0.5, None, num_samples=8, seed=0)
    assert torch.equal(masks, again)


def test_the_papers_masks_are_j_of_them():
    masks = prediction_masks(OBSERVED, 0.5, 3, num_samples=8, seed=0)
    assert [mask.shape for mask in masks] == [(30,)] * 3


def test_a_share_that_is_no_whole_number_is_right_in_the_mean():
    """One label is shown by half of the masks; of three, one or two are."""
    one = torch.arange(30) == 4
    (masks,) = prediction_masks(one, 0.5, None, num_samples=400, seed=0)
    assert 160 < int(masks.sum()) < 240
    (masks,) = prediction_masks(torch.arange(30) < 3, 0.5, None, num_samples=400, seed=0)
    assert set(masks.sum(dim=0).tolist()) == {1, 2}


def test_steps_choose_from_a_pool_where_they_must():
    draw = step_masks(OBSERVED, 0.5, None, pooled=True, seed=0)
    drawn = {tuple(draw(torch.Generator().manual_seed(i)).tolist()) for i in range(200)}
    assert len(drawn) == POOL
    free = step_masks(OBSERVED, 0.5, None, pooled=False, seed=0)
    assert len({tuple(free(torch.Generator().manual_seed(i)).tolist()) for i in range(200)}) > 150


def test_given_masks_are_checked():
    with pytest.raises(ValueError, match=r"expected bool \[J, 30\]"):
        step_masks(OBSERVED, 0.5, torch.zeros(2, 5, dtype=torch.bool), pooled=False, seed=0)
