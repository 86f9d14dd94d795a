"""
Why it works: the theory in pictures
====================================

A message-passing GNN gives the same output to nodes that *look* the same from where they stand, however deep it
is. Labels that are drawn at random, and averaged over, can tell some of them apart. Here are two nodes that no
GNN can tell apart, and collective learning can.

Two triangles and two squares
-----------------------------

In this graph, nodes 1 to 4 lie on triangles and 5 to 8 on squares. Each has two neighbours that look alike, so
the colours of 1-WL, which bound what a GNN can see, are the same for all eight.
"""

import matplotlib.pyplot as plt
import networkx as nx
from torch_geometric.utils import to_networkx

from clgnn import theory

data = theory.theorem_2()
colours = theory.refine(data.edge_index, theory.initial_colours(data))
orbits = theory.orbits(data)
print("colours of 1-WL:", colours[:10].tolist())
print("orbits:         ", orbits[:10].tolist())

# %%
# Nodes of one colour have the same output in every GNN. Nodes of one orbit *must* have the same output in
# anything that does not depend on how the nodes are numbered. Between the two there is room.

graph = to_networkx(data, to_undirected=True)
places = nx.spring_layout(graph, seed=3, iterations=300)
figure, panels = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
titles = ["what a GNN sees (1-WL)", "what could be seen (orbits)"]
for axes, kinds, title in zip(panels, [colours, orbits], titles, strict=True):
    nx.draw(graph, places, ax=axes, labels={i: i + 1 for i in graph}, cmap="Pastel1", vmin=0, vmax=8,
            node_color=theory.classes(kinds[:, None]).tolist(), edgecolors="#555", node_size=420)  # fmt: skip
    axes.set_title(title)
plt.show()

# %%
# Labels that are drawn
# ---------------------
#
# Draw a label for each node by tossing a coin. Around a triangle, a node's neighbours see each other's label;
# around a square they do not. In the mean over all draws, the output of a GNN differs. ``theory.statements``
# computes this exactly, over all assignments of labels and with random weights, for every statement of the
# paper. A gap is the largest difference between the outputs.

for statement in theory.statements(gnn="gin", seed=0):
    print(f"{statement.name:32} {'holds' if statement.holds else 'does not hold'}")
    for what, value in dict(statement.computed).items():
        print(f"      {what}: {value:.1e}" if isinstance(value, float) else f"      {what}: {value}")

# %%
# The same as pictures
# --------------------
#
# This is what ``clgnn theory --figure theory.svg`` draws. Nodes of one colour have the same output; squares are
# classes that only collective learning has. :doc:`Theory </theory>` says what each statement needs, and where
# collective learning adds nothing.

import io

from clgnn.theory.figure import draw

drawn = io.BytesIO()
draw(seed=0).savefig(drawn, dpi=130)
drawn.seek(0)
plt.figure(figsize=(10, 9), layout="constrained")
plt.imshow(plt.imread(drawn))
plt.axis("off")
plt.show()
