"""Functions of networkx 1.11 to 2.4 that today's networkx lacks, or answers in another form."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Iterator
from typing import Any

# Keywords of networkx 2 for node_link_data, by the keys of `attrs`, which it had before.
_LINK_KEYS = {"source": "source", "target": "target", "name": "name", "key": "key", "link": "edges"}


def sparse_matrix(name: str) -> Callable[..., Any]:
    """Returns a function of networkx that makes a sparse matrix, on which `*` multiplies matrices.

    Since 2.7 the functions make sparse arrays, on which `*` multiplies item by item.
    """
    import networkx

    @functools.wraps(getattr(networkx, name))
    def function(*args: Any, **kwargs: Any) -> Any:
        return _as_matrix(getattr(networkx, name)(*args, **kwargs))

    return function


def _as_matrix(array: Any) -> Any:
    import scipy.sparse

    return getattr(scipy.sparse, f"{array.format}_matrix")(array)


def to_scipy_sparse_matrix(
    G: Any, nodelist: Any = None, dtype: Any = None, weight: Any = "weight", format: str = "csr"
) -> Any:
    """Returns the adjacency matrix as a matrix of `scipy.sparse`."""
    import networkx

    return _as_matrix(networkx.to_scipy_sparse_array(G, nodelist, dtype, weight, format))


def from_scipy_sparse_matrix(
    A: Any, parallel_edges: bool = False, create_using: Any = None, edge_attribute: str = "weight"
) -> Any:
    """Returns the graph of an adjacency matrix of `scipy.sparse`."""
    import networkx

    return networkx.from_scipy_sparse_array(A, parallel_edges, create_using, edge_attribute)


def to_numpy_matrix(G: Any, *args: Any, **kwargs: Any) -> Any:
    """Returns the adjacency matrix as `numpy.matrix`."""
    import networkx
    import numpy as np

    return np.asmatrix(networkx.to_numpy_array(G, *args, **kwargs))


def from_numpy_matrix(A: Any, parallel_edges: bool = False, create_using: Any = None) -> Any:
    """Returns the graph of a square array."""
    import networkx
    import numpy as np

    return networkx.from_numpy_array(np.asarray(A), parallel_edges, create_using)


def from_pandas_dataframe(
    df: Any, source: Any, target: Any, edge_attr: Any = None, create_using: Any = None
) -> Any:
    """Returns the graph of a table of edges."""
    import networkx

    return networkx.from_pandas_edgelist(df, source, target, edge_attr, create_using)


def subgraphs(name: str) -> Callable[..., Any]:
    """Returns `NAME_subgraphs`, a generator of the graph's parts that `NAME`s names."""
    import networkx

    parts = getattr(networkx, f"{name}s")

    def function(G: Any, copy: bool = True) -> Iterator[Any]:
        for nodes in parts(G):
            part = G.subgraph(nodes)
            yield part.copy() if copy else part

    function.__name__ = f"{name}_subgraphs"
    return function


def set_attributes(kind: str) -> Callable[..., Any]:
    """Returns `set_node_attributes` or `set_edge_attributes` with both orders of arguments.

    Until networkx 2.0 the name of the attribute came before its values.
    """
    import networkx

    now = getattr(networkx, f"set_{kind}_attributes")

    @functools.wraps(now)
    def function(G: Any, values: Any, name: Any = None) -> None:
        is_name_first = isinstance(values, str) and name is not None and not isinstance(name, str)
        now(G, name, values) if is_name_first else now(G, values, name)

    return function


def node_link_data(G: Any, attrs: dict[str, str] | None = None, **options: Any) -> Any:
    """Returns a graph as plain data, with its edges under "links"."""
    import networkx

    return networkx.node_link_data(G, **_link_options(attrs, "links", options))


def node_link_graph(
    data: Any,
    directed: bool = False,
    multigraph: bool = True,
    attrs: dict[str, str] | None = None,
    **options: Any,
) -> Any:
    """Returns the graph of plain data, whose edges are under "links", or "edges" as today."""
    import networkx

    edges = "links" if "links" in data else "edges"
    return networkx.node_link_graph(
        data, directed, multigraph, **_link_options(attrs, edges, options)
    )


def _link_options(
    attrs: dict[str, str] | None, edges: str, options: dict[str, Any]
) -> dict[str, Any]:
    named = {_LINK_KEYS[key]: value for key, value in (attrs or {}).items()}
    return {"edges": edges, **named, **options}


def write_gpickle(G: Any, path: Any, protocol: int = pickle.HIGHEST_PROTOCOL) -> None:
    """Pickles a graph into a file or to a path."""
    if hasattr(path, "write"):
        pickle.dump(G, path, protocol)
        return
    with open(path, "wb") as file:
        pickle.dump(G, file, protocol)


def read_gpickle(path: Any) -> Any:
    """Returns a pickled graph; a pickle runs code, so it must be one that the user trusts."""
    if hasattr(path, "read"):
        return pickle.load(path)
    with open(path, "rb") as file:
        return pickle.load(file)


def info(G: Any, n: Any = None) -> str:
    """Returns a text about a graph, or about one of its nodes."""
    if n is not None:
        return (
            f"Node {n} has the following properties:\nDegree: {G.degree(n)}\n"
            f"Neighbors: {' '.join(str(node) for node in G.neighbors(n))}"
        )
    nodes = G.number_of_nodes()
    lines = [f"Name: {G.name}", f"Type: {type(G).__name__}", f"Number of nodes: {nodes}"]
    lines.append(f"Number of edges: {G.number_of_edges()}")
    if nodes and G.is_directed():
        for label, degrees in (("in", G.in_degree()), ("out", G.out_degree())):
            mean = sum(degree for _, degree in degrees) / nodes
            lines.append(f"Average {label} degree: {mean:8.4f}")
    elif nodes:
        lines.append(f"Average degree: {sum(degree for _, degree in G.degree()) / nodes:8.4f}")
    return "\n".join(lines)
