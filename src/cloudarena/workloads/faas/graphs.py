"""Topologies from files: YAML, GraphML, and the node-link JSON of networkx.

Attributes of nodes and edges are the keys of a spec: ``device``, ``zone``, ``registry``,
``storage``, ``gateway``; ``mbps``, ``back_mbps``, ``latency_ms``. Positions are ``x`` and ``y``, or
``lat`` and ``lon``; further attributes of a node are its labels.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from cloudarena.base.errors import TraceError
from cloudarena.base.yaml import parse_yaml

NODE_KEYS = (
    "name",
    "device",
    "count",
    "zone",
    "labels",
    "position",
    "registry",
    "storage",
    "gateway",
)
LINK_KEYS = ("mbps", "back_mbps", "latency_ms")
GRAPH_KEYS = ("registry", "positions", "ms_per_km")
SPACE = "{http://graphml.graphdrawing.org/xmlns}"


def read_graph(file: str, folder: str | Path | None = None) -> dict[str, Any]:
    """The nodes, links and further keys of a topology in a file."""
    path = Path(folder) / file if folder is not None else Path(file)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise TraceError(f"{path}: does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"{path}: cannot be read: {error}") from None
    try:
        if path.suffix == ".graphml":
            return _graphml(path, text)
        found = json.loads(text) if path.suffix == ".json" else parse_yaml(text)
    except (ValueError, ElementTree.ParseError) as error:
        raise TraceError(f"{path}: cannot be read: {error}") from None
    if not isinstance(found, dict) or "nodes" not in found:
        raise TraceError(f"{path}: has no nodes: a mapping with nodes and links is needed")
    return _node_link(path, found) if path.suffix == ".json" else found


def _node_link(path: Path, found: dict[str, Any]) -> dict[str, Any]:
    """What ``networkx.node_link_data`` returns; its edges are called links or edges."""
    edges = found.get("links", found.get("edges"))
    if not isinstance(edges, list) or not isinstance(found["nodes"], list):
        raise TraceError(f"{path}: has no list of nodes, or none of links")
    nodes = []
    for node in found["nodes"]:
        if not isinstance(node, dict) or ("id" not in node and "name" not in node):
            raise TraceError(f"{path}: a node without id is not allowed")
        nodes.append((str(node.get("id", node.get("name"))), node))
    links = []
    for edge in edges:
        if not isinstance(edge, dict) or "source" not in edge or "target" not in edge:
            raise TraceError(f"{path}: an edge without source and target is not allowed")
        links.append((str(edge["source"]), str(edge["target"]), edge))
    return _graph(nodes, links, found.get("graph", {}), bool(found.get("directed")))


def _graphml(path: Path, text: str) -> dict[str, Any]:
    """A file of ``networkx.write_graphml``, yEd or Gephi."""
    root = ElementTree.fromstring(text)
    graph = root.find(f"{SPACE}graph")
    if graph is None:
        raise TraceError(f"{path}: has no graph")
    keys = {
        key.get("id"): (key.get("attr.name", ""), key.get("attr.type", "string"))
        for key in root.findall(f"{SPACE}key")
    }

    def attributes(element: ElementTree.Element) -> dict[str, Any]:
        found = {}
        for data in element.findall(f"{SPACE}data"):
            name, kind = keys.get(data.get("key"), ("", "string"))
            if name and data.text is not None:
                found[name] = _value(data.text, kind)
        return found

    nodes = [(node.get("id", ""), attributes(node)) for node in graph.findall(f"{SPACE}node")]
    links = [
        (edge.get("source", ""), edge.get("target", ""), attributes(edge))
        for edge in graph.findall(f"{SPACE}edge")
    ]
    return _graph(nodes, links, attributes(graph), graph.get("edgedefault") == "directed")


def _value(text: str, kind: str) -> Any:
    if kind == "boolean":
        return text.strip().lower() in ("true", "1")
    if kind in ("int", "long"):
        return int(text)
    return float(text) if kind in ("float", "double") else text


def _graph(
    nodes: Iterable[tuple[str, Mapping[str, Any]]],
    edges: Iterable[tuple[str, str, Mapping[str, Any]]],
    graph: Mapping[str, Any],
    directed: bool,
) -> dict[str, Any]:
    """Nodes and links as a spec has them; of two edges that are opposite, one link."""
    found: dict[str, Any] = {key: graph[key] for key in GRAPH_KEYS if key in graph}
    found["nodes"] = []
    for name, given in nodes:
        node = {key: given[key] for key in NODE_KEYS if key in given} | {"name": name}
        for x, y in (("x", "y"), ("lat", "lon")):
            if x in given and y in given:
                node["position"] = [given[x], given[y]]
                found.setdefault("positions", "km" if x == "x" else "degrees")
        known = (*NODE_KEYS, "id", "x", "y", "lat", "lon", "pos")
        labels = {key: str(value) for key, value in given.items() if key not in known}
        if labels:
            node["labels"] = {**labels, **node.get("labels", {})}
        found["nodes"].append(node)
    links: dict[tuple[str, str], dict[str, Any]] = {}
    for a, b, given in edges:
        link = {key: given[key] for key in LINK_KEYS if key in given}
        if directed and (b, a) in links:
            if "mbps" in link:
                links[b, a]["back_mbps"] = link["mbps"]
            continue
        links[a, b] = {"a": a, "b": b, **link}
    found["links"] = list(links.values())
    return found
