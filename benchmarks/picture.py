"""The headline figures of a run as an SVG: CPU time per message, on a logarithmic scale, readable on light and on dark."""

from __future__ import annotations

import math
from html import escape

# What is shown, of all workloads, and with what name.
HEADLINES = {
    "publish-0": "publish QoS 0",
    "publish-0-64k": "… 64 KiB at a time",
    "publish-1-20": "publish QoS 1, window 20",
    "publish-1-1000": "… window 1000",
    "publish-2-20": "publish QoS 2",
    "receive-0": "receive QoS 0",
    "receive-1-20": "receive QoS 1, window 20",
    "receive-1-1000": "… window 1000",
    "receive-2-20": "receive QoS 2",
}
BARS = ["swiftmqtt", "mosquitto", "paho"]
LIMIT = "raw"

WIDTH, LEFT, RIGHT, TOP = 820, 190, 70, 62
BAR, GAP, SPACE = 11, 2, 12  # heights: of a bar, between bars, between groups

STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f }
.title { font-size: 15px; font-weight: 600 }
.value, .axis { font-size: 10px; fill: #57606a }
.grid { stroke: #d0d7de }
.swiftmqtt { fill: #d9480f } .mosquitto { fill: #5c7cfa } .paho { fill: #868e96 }
.limit { stroke: #24292f; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.value, .axis { fill: #9198a1 }
.grid { stroke: #3d444d }
.swiftmqtt { fill: #ff922b } .mosquitto { fill: #748ffc } .paho { fill: #adb5bd }
.limit { stroke: #e6edf3 }
}"""


def duration(ns: float) -> str:
    if ns >= 1000:
        return f"{ns / 1000:.3g} µs"
    return f"{ns:.3g} ns" if ns < 100 else f"{ns:.0f} ns"


class Scale:
    """Whole powers of ten from below the least value to above the largest."""

    def __init__(self, values: list[float]):
        self.low = math.floor(math.log10(min(values)))
        self.high = math.log10(max(values))

    def x(self, ns: float) -> float:
        return LEFT + (math.log10(ns) - self.low) / (self.high - self.low) * (WIDTH - LEFT - RIGHT)

    def ticks(self) -> list[float]:
        return [10.0**power for power in range(self.low, math.floor(self.high) + 1)]


def legend(about: dict, bars: list[str]) -> list[str]:
    parts, x = [], LEFT
    for peer in bars:
        version = about["versions"].get(peer, "")
        text = f"{about['titles'][peer]} {version}"
        parts.append(f'<rect class="{peer}" x="{x}" y="32" width="11" height="11" rx="2"/>'
                     f'<text x="{x + 16}" y="42">{escape(text)}</text>')
        x += 16 + 7 * len(text) + 18
    parts.append(f'<line class="limit" x1="{x + 5}" y1="31" x2="{x + 5}" y2="44"/>'
                 f'<text x="{x + 13}" y="42">the bare socket</text>')
    return parts


def group(title: str, cells: dict, bars: list[str], scale: Scale, y: float) -> list[str]:
    height = len(bars) * (BAR + GAP)
    parts = [f'<text x="{LEFT - 10}" y="{y + height / 2 + 3:.1f}" text-anchor="end">{escape(title)}</text>']
    for row, peer in enumerate(bars):
        if peer not in cells:
            continue
        ns, at = cells[peer]["cpu_ns"], y + row * (BAR + GAP)
        x = scale.x(ns)
        parts.append(f'<rect class="{peer}" x="{LEFT}" y="{at:.1f}" width="{x - LEFT:.1f}" height="{BAR}" rx="1"/>'
                     f'<text class="value" x="{x + 5:.1f}" y="{at + BAR - 2:.1f}">{duration(ns)}</text>')
    if LIMIT in cells:
        x = scale.x(cells[LIMIT]["cpu_ns"])
        parts.append(f'<line class="limit" x1="{x:.1f}" y1="{y - 2:.1f}" x2="{x:.1f}" y2="{y + height:.1f}"/>')
    return parts


def svg(results: dict) -> str:
    """Empty if the run has none of the headlines."""
    shown = {name: results["workloads"][name]["peers"] for name in HEADLINES if results["workloads"].get(name, {}).get("peers")}
    bars = [peer for peer in BARS if any(peer in cells for cells in shown.values())]
    values = [cells[peer]["cpu_ns"] for cells in shown.values() for peer in [*bars, LIMIT] if peer in cells]
    if not bars or len(values) < 2 or min(values) <= 0 or max(values) == min(values):
        return ""
    scale, step = Scale(values), len(bars) * (BAR + GAP) + SPACE
    bottom = TOP + len(shown) * step
    about = results["about"]
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 30}" width="{WIDTH}" '
             f'height="{bottom + 30}" role="img" aria-label="CPU time per message">', f"<style>{STYLE}</style>",
             f'<text class="title" x="{LEFT}" y="19">CPU time of the client per message of 64 bytes, logarithmic</text>']
    parts += legend(about, bars)
    for tick in scale.ticks():
        x = scale.x(tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{bottom - 4}"/>'
                     f'<text class="axis" x="{x:.1f}" y="{bottom + 9}" text-anchor="middle">{duration(tick)}</text>')
    for row, (name, cells) in enumerate(shown.items()):
        parts += group(HEADLINES[name], cells, bars, scale, TOP + row * step)
    parts.append(f'<text class="axis" x="{LEFT}" y="{bottom + 25}">{escape(about["processor"])}, commit '
                 f'{escape(about["commit"])}, {about["date"]}</text>')
    return "\n".join([*parts, "</svg>", ""])
