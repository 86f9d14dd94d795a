from itertools import islice

from clgnn.theory import STATEMENTS, statements


def test_they_are_computed_one_by_one(monkeypatch):
    seen = []

    def noted(number):
        return lambda gnn, seed: seen.append((number, gnn, seed)) or number

    monkeypatch.setattr("clgnn.theory.collection.STATEMENTS", [noted(0), noted(1), noted(2)])
    assert list(islice(statements("gcn", 7), 2)) == [0, 1]
    assert seen == [(0, "gcn", 7), (1, "gcn", 7)]


def test_the_same_seed_computes_the_same():
    for statement in STATEMENTS[:2]:
        assert statement("gin", 5) == statement("gin", 5)
