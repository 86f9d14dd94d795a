import pytest
import torch

from clgnn.estimators.labelling import Classes, Numbers, measure


def test_classes_of_any_numbers_and_back():
    classes = Classes.learn(torch.tensor([5, -1, 2, 9, 5]))
    assert classes.values == (2, 5, 9)
    assert classes.encode(torch.tensor([9, -1, 2]), "m").tolist() == [2, -1, 0]
    with pytest.raises(ValueError, match=r"val_mask has class 7, which no training label has"):
        classes.encode(torch.tensor([7]), "val_mask")


def test_class_weights():
    y = torch.tensor([0, 0, 0, 1])
    assert Classes.learn(y, "balanced").weights == pytest.approx((4 / 6, 2.0))
    assert Classes.learn(y, {0: 1, 1: 5}).weights == (1.0, 5.0)
    for wrong in ("even", {0: 1}):
        with pytest.raises(
            ValueError, match=r"class_weight is .* a dict with one weight for each class: \{0: 1.0, 1: 1.0\}"
        ):
            Classes.learn(y, wrong)


def test_labels_that_can_not_be_learned():
    with pytest.raises(ValueError, match="all training labels are of class 3; expected two classes"):
        Classes.learn(torch.tensor([3, 3, -1]))
    with pytest.raises(ValueError, match="For numbers: CollectiveRegressor"):
        Classes.learn(torch.tensor([0.5, 1.0]))
    with pytest.raises(ValueError, match="all training labels are 2"):
        Numbers.learn(torch.tensor([2.0, 2.0, torch.nan]))
    with pytest.raises(ValueError, match="For classes: CollectiveClassifier"):
        Numbers(0.0, 1.0).encode(torch.tensor([1]), "m")
    with pytest.raises(ValueError, match="infinite"):
        Numbers.learn(torch.tensor([2.0, torch.inf]))


def test_numbers_are_standardised_and_restored():
    y = torch.tensor([10.0, 20.0, 30.0, torch.nan])
    numbers = Numbers.learn(y)
    encoded = numbers.encode(y, "m")
    assert encoded[:3].mean().item() == pytest.approx(0, abs=1e-6)
    assert encoded[:3].std(correction=0).item() == pytest.approx(1, abs=1e-6)
    assert numbers.restore(encoded)[:3].tolist() == pytest.approx([10, 20, 30])
    outputs = torch.stack([encoded[:3], torch.full((3,), 50.0)], dim=1)
    assert numbers.decode(outputs)[:, 0].tolist() == pytest.approx([10, 20, 30], rel=1e-5)
    assert measure(numbers, numbers.metric("rmse"), encoded[:3], numbers.decode(outputs)) == pytest.approx(
        0, abs=1e-4
    )


def test_the_spread_is_that_of_the_predicted_class():
    sure = torch.tensor([[4.0, 0.0]]).repeat(6, 1)
    torn = torch.tensor([[4.0, 0.0], [-4.0, 0.0]] * 3)
    spread = Classes((0, 1)).spread(torch.stack([sure, torn]))
    assert spread[0] == 0
    assert spread[1] > 0.4


def test_the_spread_is_the_deviation_of_the_probability():
    samples = torch.tensor([[[0.0, 0.0], [3.0, 0.0]]])
    low, high = 0.5, torch.tensor([3.0, 0.0]).softmax(dim=0)[0].item()
    assert Classes((0, 1)).spread(samples).item() == pytest.approx((high - low) / 2)
