"""networkx's names and methods of versions 1.11 to 2.4, for the user's modules only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moxing.legacy.face.faces import Spec
from moxing.legacy.libraries import users_only
from moxing.legacy.libraries.networkx import functions, lists

_OWN = "moxing.legacy.libraries.networkx.functions"
_MATRICES = (
    *("adjacency_matrix", "incidence_matrix", "laplacian_matrix", "modularity_matrix"),
    *("normalized_laplacian_matrix", "attr_sparse_matrix", "bethe_hessian_matrix"),
)
_SUBGRAPHS = (
    *("attracting_component", "biconnected_component", "connected_component"),
    *("strongly_connected_component", "weakly_connected_component"),
)
_RESTORED = (
    *("from_numpy_matrix", "from_pandas_dataframe", "from_scipy_sparse_matrix", "info"),
    *("node_link_data", "node_link_graph", "read_gpickle", "to_numpy_matrix"),
    *("to_scipy_sparse_matrix", "write_gpickle"),
)
# Methods of networkx 1 that gave iterators, by the methods that give them today.
_ITERATORS = {
    **{f"{name}_iter": name for name in ("nodes", "edges", "neighbors", "degree", "in_degree")},
    **{f"{name}_iter": name for name in ("out_degree", "in_edges", "out_edges")},
    **{f"{name}_iter": name for name in ("predecessors", "successors")},
    "adjacency_iter": "adjacency",
}
# Methods of networkx 1 that are functions today.
_FUNCTIONS = ("add_cycle", "add_path", "add_star", "nodes_with_selfloops", "number_of_selfloops")
_YAML = "Write the graph by nx.write_gexf, nx.write_graphml or nx.node_link_data instead."


def spec() -> Spec:
    """networkx; everything else is its own."""
    names: dict[str, Any] = {
        **{name: f"{_OWN}:{name}" for name in _RESTORED},
        **{name: _sparse(name) for name in _MATRICES},
        **{f"{name}_subgraphs": _parts(name) for name in _SUBGRAPHS},
        **{
            f"set_{kind}_attributes": (lambda kind=kind: functions.set_attributes(kind))
            for kind in ("edge", "node")
        },
        "OrderedGraph": "networkx:Graph",
        "OrderedDiGraph": "networkx:DiGraph",
        "OrderedMultiGraph": "networkx:MultiGraph",
        "OrderedMultiDiGraph": "networkx:MultiDiGraph",
        "to_pandas_dataframe": "networkx:to_pandas_adjacency",
    }
    links = {name: names[name] for name in ("node_link_data", "node_link_graph")}
    json_graph = Spec(roots=("networkx.readwrite.json_graph",), names=links, library=True)
    readwrite = Spec(
        roots=("networkx.readwrite",), names={"json_graph": json_graph, **links}, library=True
    )
    return Spec(
        roots=("networkx",),
        names={**names, "__version__": lists.version, "readwrite": readwrite},
        gone={"read_yaml": _YAML, "write_yaml": _YAML},
        arrive=_arrive,
        library=True,
    )


def _sparse(name: str) -> Callable[[], Any]:
    return lambda: functions.sparse_matrix(name)


def _parts(name: str) -> Callable[[], Any]:
    return lambda: functions.subgraphs(name)


def _arrive() -> None:
    import networkx
    from networkx.classes import reportviews

    for owner in (networkx.Graph, networkx.DiGraph):
        users_only.add(owner, "node", lambda graph: graph.nodes, "property")
        users_only.add(owner, "selfloop_edges", networkx.selfloop_edges)
        for old, now in _ITERATORS.items():
            if hasattr(owner, now):
                users_only.add(owner, old, _iterator(now))
        for name in _FUNCTIONS:
            users_only.add(owner, name, getattr(networkx, name))
    # `G.degree()` was a dict.
    users_only.add(reportviews.DiDegreeView, "keys", lambda view: [node for node, _ in view])
    users_only.add(reportviews.DiDegreeView, "values", lambda view: [value for _, value in view])
    users_only.add(reportviews.DiDegreeView, "items", list)
    lists.install()


def _iterator(name: str) -> Callable[..., Any]:
    def method(graph: Any, *args: Any, **kwargs: Any) -> Any:
        found = getattr(graph, name)(*args, **kwargs)
        # The degree of one node is a number.
        return iter(found) if hasattr(found, "__iter__") else found

    return method
