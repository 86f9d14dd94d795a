"""Draws iteration.svg and masks.svg, the method in two pictures: ``python docs/figures/drawings.py``."""

from collections.abc import Mapping
from pathlib import Path

PLACES = [(20, 62), (62, 22), (70, 84), (112, 48), (152, 18), (158, 84), (34, 108), (112, 112)]
LINKS = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5), (4, 5), (2, 6), (0, 6), (2, 7), (5, 7)]
BLUE, ORANGE, GREY, INK = "#0b6e99", "#e07b39", "#d7dee5", "#2b3640"
KNOWN = {1: BLUE, 5: ORANGE}
DRAWS = ["BBBBOOBO", "BBBOOOBB", "OBBBOOBO"]  # of three samples: a letter for each node
SHARES = [0.85, 1, 0.8, 0.5, 0.15, 0, 0.9, 0.35]  # blue's probability of each node


def graph(
    x: float, y: float, kind: str, draw: str = "", scale: float = 1.0, shown: Mapping[int, str] = KNOWN
) -> str:
    """The small graph: with known labels, with probabilities, or with a draw of labels."""
    parts = [f'<g transform="translate({x} {y}) scale({scale})">']
    for u, v in LINKS:
        (a, b), (c, d) = PLACES[u], PLACES[v]
        parts.append(f'<line x1="{a}" y1="{b}" x2="{c}" y2="{d}" stroke="#9aa5b1" stroke-width="2"/>')
    for node, (a, b) in enumerate(PLACES):
        colour = {"B": BLUE, "O": ORANGE}.get(draw[node] if draw else "", shown.get(node, GREY))
        ring = INK if node in shown else "#fff"
        if kind == "probabilities" and node not in KNOWN:
            share = SHARES[node]
            parts.append(f'<circle cx="{a}" cy="{b}" r="11" fill="{ORANGE}"/>')
            parts.append(f'<clipPath id="c{node}"><circle cx="{a}" cy="{b}" r="11"/></clipPath>')
            parts.append(
                f'<rect x="{a - 11}" y="{b + 11 - 22 * share}" width="22" height="{22 * share}" '
                f'fill="{BLUE}" clip-path="url(#c{node})"/>'
            )
        else:
            parts.append(
                f'<circle cx="{a}" cy="{b}" r="11" fill="{colour}" stroke="{ring}" stroke-width="3"/>'
            )
    return "\n".join([*parts, "</g>"])


def text(x: float, y: float, said: str, size: int = 15, weight: str = "400", colour: str = INK) -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" fill="{colour}">{said}</text>'


def arrow(path: str, colour: str = INK) -> str:
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="3" marker-end="url(#tip)"/>'


def box(x: float, y: float, width: float, height: float, said: str) -> str:
    middle = f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="10" fill="{BLUE}"/>'
    return middle + (
        f'<text x="{x + width / 2}" y="{y + height / 2 + 6}" font-size="18" font-weight="700" fill="#fff" '
        f'text-anchor="middle">{said}</text>'
    )


def picture(name: str, height: int, said: str, body: list[str]) -> None:
    """Writes the parts as one SVG, on a white ground."""
    fonts = "system-ui, Segoe UI, Helvetica, Arial, sans-serif"
    tip = (
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="6" markerHeight="6" '
        f'orient="auto-start-reverse"><path d="M0 0 L10 5 L0 10 z" fill="{INK}"/></marker></defs>'
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 {height}" role="img" font-family="{fonts}"'
    )
    ground = f'<rect width="960" height="{height}" rx="12" fill="#fff"/>'
    lines = [f'{head} aria-label="{said}">', tip, ground, *body, "</svg>", ""]
    Path(__file__).with_name(name).write_text("\n".join(lines))


def iteration() -> None:
    samples = "\n".join(graph(686 + 90 * k, 262, "draw", DRAWS[k], 0.44) for k in range(3))
    body = [
        text(24, 36, "1  A few labels are known", 16, "700"),
        graph(24, 62, "known"),
        text(24, 206, "features X, and labels Y"),
        text(24, 226, "of some nodes"),
        arrow("M215 120 H282"),
        box(292, 88, 112, 64, "GNN"),
        arrow("M414 120 H470"),
        text(480, 36, "2  It predicts the others", 16, "700"),
        graph(480, 62, "probabilities"),
        text(480, 206, "a probability for each class"),
        arrow("M664 130 C 760 136 800 150 806 198"),
        text(712, 234, "3  Draw labels, K times", 16, "700"),
        samples,
        arrow("M672 292 H348 V164"),
        text(366, 272, "4  Show them to the GNN, beside X", 15, "700"),
        text(366, 318, "Average over the draws. Repeat T times."),
        text(24, 278, "In training a part of the known", 14, "400", "#5b6873"),
        text(24, 298, "labels is hidden: they are what", 14, "400", "#5b6873"),
        text(24, 318, "the GNN learns to predict.", 14, "400", "#5b6873"),
    ]
    said = "A GNN predicts the unknown labels; K draws of them are shown to it beside X; this repeats T times"
    picture("iteration.svg", 372, said, body)


def masks() -> None:
    panels = [
        (
            "One step of training",
            "blue is shown, orange is hidden:",
            "the GNN learns to predict it",
            {1: BLUE},
            5,
        ),
        ("The next step", "orange is shown, blue is hidden:", "each step has its own mask", {5: ORANGE}, 1),
        ("Prediction, labels seen", "each sample shows another part", "of what is observed", {1: BLUE}, None),
        ("Prediction, none seen", "no true label is ever shown;", "in training neither", {}, None),
    ]
    body = []
    for k, (title, line, other, shown, target) in enumerate(panels):
        x = 20 + 240 * k
        body += [text(x, 36, title, 16, "700"), graph(x, 58, "known", shown=shown)]
        if target is not None:
            a, b = PLACES[target]
            body.append(
                f'<circle cx="{x + a}" cy="{58 + b}" r="15" fill="none" stroke="{KNOWN[target]}" '
                'stroke-width="3" stroke-dasharray="4 3"/>'
            )
        body += [text(x, 206, line, 14), text(x, 226, other, 14)]
    said = "Which labels are shown and which are hidden, in training and in prediction"
    picture("masks.svg", 248, said, body)


if __name__ == "__main__":
    iteration()
    masks()
