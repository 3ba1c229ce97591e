# SPDX-License-Identifier: GPL-2.0-or-later
"""What an SVG picture shows, a line each: nodes, edges with the nodes' texts, the title.

picture.py FILE          those lines, sorted
picture.py --tips FILE   the tooltips as well, lines of one apart by |
picture.py --fit FILE    nodes whose text is wider than they are
picture.py --count FILE  how many nodes and edges
"""
import re
import sys
import xml.etree.ElementTree as tree

SVG = "{http://www.w3.org/2000/svg}"
TITLE = "{http://www.w3.org/1999/xlink}title"


def texts(group):
    return [(text.text or "").replace("\xa0", " ") for text in group.iter(SVG + "text")]


def tip(group):
    for anchor in group.iter(SVG + "a"):
        return " tip=" + (anchor.get(TITLE) or "").replace("\n", "|").replace("\xa0", " ")
    return " tip="


def shapes(group):
    return [e for e in group.iter() if e.tag in (SVG + "path", SVG + "ellipse", SVG + "polygon", SVG + "polyline")]


def look(group):
    """Colour, width to one digit, dashes."""
    if not shapes(group):
        return "text only"
    shape = shapes(group)[0]
    words = []
    if shape.get("stroke") not in (None, "black", "#444444"):
        words.append(shape.get("stroke"))
    words.append("%.1f" % float(shape.get("stroke-width") or 1))
    if shape.get("stroke-dasharray"):
        words.append("dashed")
    return " ".join(words)


def width(group):
    shape = shapes(group)[0]
    if shape.get("rx"):
        return 2 * float(shape.get("rx"))
    numbers = re.findall(r"(-?[\d.]+),-?[\d.]+", shape.get("points") or shape.get("d"))
    return max(map(float, numbers)) - min(map(float, numbers))


def kind(group):
    return " ".join(sorted(group.get("class").split()[1:]))


def main():
    options, file = sys.argv[1:-1], sys.argv[-1]
    root = tree.parse(file).getroot()
    groups = [g for g in root.iter(SVG + "g") if g.get("class")]
    nodes = {g.find(SVG + "title").text: g for g in groups if g.get("class").split()[0] == "node"}
    edges = [g for g in groups if g.get("class").split()[0] == "edge"]
    graph = [g for g in groups if g.get("class") == "graph"][0]
    if "--count" in options:
        print(len(nodes), len(edges))
        return
    if "--fit" in options:
        for node in nodes.values():
            for text in node.iter(SVG + "text"):
                # Wider than the letters of any usual font are on average.
                if 0.55 * float(text.get("font-size")) * len(text.text) > width(node):
                    print(text.text, width(node))
        return
    tips = "--tips" in options
    lines = []
    for node in nodes.values():
        lines.append("%s: %s [%s]%s" % (kind(node), " / ".join(texts(node)), look(node), tip(node) if tips else ""))
    for edge in edges:
        a, b = edge.find(SVG + "title").text.split("->")
        lines.append("%s: %s -> %s: %s [%s]%s" % (
            kind(edge), texts(nodes[a])[0], texts(nodes[b])[0], " / ".join(texts(edge)), look(edge),
            tip(edge) if tips else ""))
    title = [t.text for t in graph.findall(SVG + "text")]
    title += [t.text for a in graph.findall(SVG + "g") if not a.get("class") for t in a.iter(SVG + "text")]
    lines.append("title: " + " / ".join(title))
    if tips:
        lines.append("graph:" + tip(graph))
    print("\n".join(sorted(lines)))


main()
