"""networkx as programs of 2016 to 2019 know it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse

from moxing.legacy.libraries.networkx import lists

# 0 - 1 - 2 with weights 2 and 3, and 3 - 4 apart.
_GRAPH = """
import networkx as nx, numpy as np
G = nx.Graph()
G.add_path([0, 1, 2])
G.add_edge(3, 4)
G[0][1]['weight'], G[1][2]['weight'] = 2, 3
"""


def test_graphs_have_their_old_methods(program: Any) -> None:
    values = program(
        _GRAPH
        + """
G.node[1]['label'] = 'middle'
label = G.nodes[1]['label']
nodes, edges = list(G.nodes_iter()), list(G.edges_iter())
next_one = next(G.neighbors_iter(0))
data = dict(G.nodes_iter(data=True))
weights = list(G.edges_iter(data='weight'))
D = nx.DiGraph([(0, 1), (2, 1), (1, 1)])
around = list(D.predecessors_iter(1)), list(D.successors_iter(0)), list(D.in_edges_iter(1))
loops = list(D.selfloop_edges()), D.number_of_selfloops(), list(D.nodes_with_selfloops())
degrees = sorted(G.degree().values()), dict(G.degree().items()), G.degree().keys()
one, several = G.degree(1), dict(G.degree_iter([0, 1]))
"""
    )

    assert values["label"] == "middle"
    assert values["nodes"] == [0, 1, 2, 3, 4]
    assert values["edges"] == [(0, 1), (1, 2), (3, 4)]
    assert values["next_one"] == 1
    assert values["data"][1] == {"label": "middle"}
    assert values["weights"] == [(0, 1, 2), (1, 2, 3), (3, 4, None)]
    assert values["around"] == ([0, 2, 1], [1], [(0, 1), (2, 1), (1, 1)])
    assert values["loops"] == ([(1, 1)], 1, [1])
    degrees = {0: 1, 1: 2, 2: 1, 3: 1, 4: 1}
    assert values["degrees"] == ([1, 1, 1, 1, 2], degrees, [0, 1, 2, 3, 4])
    assert (values["one"], values["several"]) == (2, {0: 1, 1: 2})
    # For everybody else they are as they were.
    assert not hasattr(nx.Graph(), "node")
    assert not hasattr(nx.Graph(), "nodes_iter")
    assert not hasattr(nx.Graph().degree(), "values")


def test_matrices_are_matrices(program: Any) -> None:
    values = program(
        _GRAPH
        + """
A, L = nx.adjacency_matrix(G), nx.laplacian_matrix(G)
N = nx.normalized_laplacian_matrix(G)
S = nx.to_scipy_sparse_matrix(G, nodelist=[2, 1], format='coo')
M = nx.to_numpy_matrix(G, nodelist=[0, 1, 2])
twice = A * A
again, back = nx.from_numpy_matrix(M), nx.from_scipy_sparse_matrix(A)
typed = nx.adjacency_matrix(G, nodelist=[0, 1], dtype=np.float32)
"""
    )

    adjacency = np.zeros((5, 5))
    adjacency[[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]] = [2, 2, 3, 3, 1, 1]
    assert scipy.sparse.isspmatrix_csr(values["A"])
    assert np.array_equal(values["A"].todense(), adjacency)
    # A product of matrices, not of items.
    assert np.array_equal(values["twice"].toarray(), adjacency @ adjacency)
    sums = adjacency.sum(axis=1)
    assert np.array_equal(values["L"].toarray(), np.diag(sums) - adjacency)
    expected = np.eye(5) - adjacency / np.sqrt(np.outer(sums, sums))
    assert np.allclose(values["N"].toarray(), expected)
    assert scipy.sparse.isspmatrix_coo(values["S"])
    assert values["S"].toarray().tolist() == [[0, 3], [3, 0]]
    assert isinstance(values["M"], np.matrix)
    assert np.array_equal(values["M"], adjacency[:3, :3])
    assert values["again"][1][2]["weight"] == 3
    assert nx.utils.graphs_equal(nx.Graph(values["back"]), nx.from_numpy_array(adjacency))
    assert values["typed"].dtype == np.float32
    assert not scipy.sparse.isspmatrix(nx.adjacency_matrix(nx.path_graph(2)))


def test_attributes_in_both_orders(program: Any) -> None:
    values = program(
        _GRAPH
        + """
nx.set_node_attributes(G, 'old', {0: 'a'})
nx.set_node_attributes(G, {1: 'b'}, 'new')
nx.set_node_attributes(G, 7, 'all')
nx.set_node_attributes(G, {2: {'k': 1}})
nx.set_edge_attributes(G, 'cost', {(0, 1): 5})
nodes, edges = dict(G.nodes(data=True)), G[0][1]
"""
    )

    nodes = values["nodes"]
    assert nodes[0] == {"old": "a", "all": 7}
    assert nodes[1] == {"new": "b", "all": 7}
    assert nodes[2] == {"all": 7, "k": 1}
    assert dict(values["edges"]) == {"weight": 2, "cost": 5}


def test_functions(program: Any, tmp_path: Any) -> None:
    values = program(
        _GRAPH
        + """
from networkx.readwrite import json_graph
parts = sorted(nx.connected_component_subgraphs(G), key=len, reverse=True)
parts[0].add_node('only in the copy')
data = json_graph.node_link_data(G)
again = json_graph.node_link_graph(data)
today = nx.node_link_graph({'nodes': data['nodes'], 'edges': data['links']}, multigraph=False)
named = nx.node_link_data(G, attrs={'link': 'lines', 'name': 'label'})
nx.write_gpickle(G, path)
loaded = nx.read_gpickle(path)
text, node = nx.info(G), nx.info(G, 1)
directed = nx.info(nx.DiGraph([(0, 1), (0, 2)]))
ordered = nx.OrderedGraph([(2, 1)])
several = nx.OrderedMultiDiGraph([(2, 1), (2, 1)])
""",
        path=str(tmp_path / "graph.gpickle"),
    )

    graph = values["G"]
    assert [sorted(part, key=str) for part in values["parts"]] == [
        [0, 1, 2, "only in the copy"],
        [3, 4],
    ]
    assert "only in the copy" not in graph
    assert values["data"]["links"][0] == {"weight": 2, "source": 0, "target": 1}
    for name in ("again", "today", "loaded"):
        assert nx.utils.graphs_equal(values[name], graph), name
    assert {"label": 0} in values["named"]["nodes"]
    assert len(values["named"]["lines"]) == 3
    assert isinstance(values["several"], nx.MultiDiGraph)
    assert list(values["several"].edges()) == [(2, 1), (2, 1)]
    assert values["text"].splitlines()[1:] == [
        "Type: Graph",
        "Number of nodes: 5",
        "Number of edges: 3",
        "Average degree:   1.2000",
    ]
    assert "Degree: 2\nNeighbors: 0 2" in values["node"]
    assert values["directed"].endswith("Average in degree:   0.6667\nAverage out degree:   0.6667")
    assert list(values["ordered"].edges()) == [(2, 1)]


def test_tables(program: Any) -> None:
    values = program(
        """
import networkx as nx, pandas as pd
table = pd.DataFrame({'from': [1, 2], 'to': [2, 3], 'cost': [4, 5]})
G = nx.from_pandas_dataframe(table, 'from', 'to', ['cost'], nx.DiGraph())
"""
    )

    assert list(values["G"].edges(data=True)) == [(1, 2, {"cost": 4}), (2, 3, {"cost": 5})]


_LISTS = """
import networkx as nx, random
version = shown_version()
G = nx.Graph([('a', 'b'), ('b', 'c')])
D = nx.DiGraph([(0, 1), (2, 1)])
nodes, edges, around = G.nodes(), G.edges(), G.neighbors('b')
with_data = G.nodes(data=True)
before, after = D.predecessors(1), D.successors(0)
for node in G.nodes():
    G.remove_node(node)
left = len(G)
"""


@pytest.mark.parametrize("old", [True, False])
def test_lists_for_programs_of_networkx_1(
    old: bool, program: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lists._file_is_of_version_1.cache_clear()
    source = _LISTS + "first = D.nodes()[0]\n"
    if not old:
        source = source.replace("in G.nodes()", "in list(G.nodes())").replace("[0]\n", "\n")
    (tmp_path / "program.py").write_text(source)
    values = program(source, shown_version=lists.version)
    assert values["left"] == 0
    if not old:
        assert values["version"] == nx.__version__
        assert not isinstance(values["nodes"], list)
        assert next(values["before"]) == 0
        return
    assert values["version"] == "1.11"
    assert values["nodes"] == ["a", "b", "c"]
    assert values["edges"] == [("a", "b"), ("b", "c")]
    assert (values["around"], values["before"], values["after"]) == (["a", "c"], [0, 2], [1])
    assert values["with_data"] == [("a", {}), ("b", {}), ("c", {})]
    assert values["first"] == 0
    # For everybody else they are as they were.
    assert isinstance(nx.path_graph(2).nodes(), nx.classes.reportviews.NodeView)


@pytest.mark.parametrize(
    ("line", "of_1"),
    [
        ("isinstance(G.nodes()[0], int)", True),
        ("self.G.edges()[:10]", True),
        ("random.shuffle(self.graph.nodes())", True),
        ("for n in G.nodes_iter(): pass", True),
        ("assert nx.__version__ == '1.11'", True),
        ("assert minor <= 11, 'networkx == 1.11'", True),
        ("G.nodes()[0]['label']", False),
        ("G.nodes[0]", False),
        ("random.choice(list(G.nodes()))", False),
        ("list(G.neighbors(n))[0]", False),
        ("nx.__version__ >= '2.1'", False),
    ],
)
def test_which_texts_are_of_networkx_1(line: str, of_1: bool) -> None:
    assert lists.is_of_version_1("import networkx as nx\n" + line) is of_1
