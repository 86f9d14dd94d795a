import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def files(tmp_path, new_graph, monkeypatch):
    graph = new_graph(num_nodes=60)
    generator = np.random.default_rng(0)
    names = np.array(["red", "green", "blue"])
    nodes = pd.DataFrame(graph.x.numpy(), columns=[f"f{i}" for i in range(5)])
    nodes.insert(0, "id", [f"n{i}" for i in range(60)])
    nodes["shape"] = generator.choice(["round", "square"], 60)
    nodes["truth"] = names[graph.y]
    nodes["colour"] = nodes["truth"].where(np.arange(60) < 40)
    nodes["part"] = np.where(np.arange(60) < 30, "train", np.where(np.arange(60) < 40, "val", "test"))
    nodes["size"] = graph.x[:, 0].numpy() * 3 + 5
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    kept = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]].numpy()
    edges = pd.DataFrame({"source": [f"n{i}" for i in kept[0]], "target": [f"n{i}" for i in kept[1]]})
    edges.to_csv(tmp_path / "edges.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path
