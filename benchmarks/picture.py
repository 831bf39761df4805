"""The figures of a run as SVGs: bars in groups, readable on light and on dark."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from report import COMMANDS

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
.b0 { fill: #d9480f } .b1 { fill: #5c7cfa } .b2 { fill: #868e96 } .b3 { fill: #2b8a3e } .b4 { fill: #ae3ec9 }
.limit { stroke: #24292f; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.value, .axis { fill: #9198a1 }
.grid { stroke: #3d444d }
.b0 { fill: #ff922b } .b1 { fill: #748ffc } .b2 { fill: #adb5bd } .b3 { fill: #69db7c } .b4 { fill: #da77f2 }
.limit { stroke: #e6edf3 }
}"""


def duration(ns: float) -> str:
    if ns >= 1000:
        return f"{ns / 1000:.3g} µs"
    return f"{ns:.3g} ns" if ns < 100 else f"{ns:.0f} ns"


def thousands(value: float) -> str:
    return f"{value:.3g} k"


def seconds(value: float) -> str:
    return f"{value:.2g} s"


@dataclass
class Chart:
    """`groups`: (title, {bar: value}) of each, of which `bars` are shown, and `limit` as a line across them."""

    title: str
    label: Callable[[float], str]
    bars: dict[str, str]  # and their titles
    groups: list[tuple[str, dict[str, float]]]
    limit: str = ""
    is_logarithmic: bool = False


class Scale:
    """From 0, or logarithmic, in whole powers of ten from below the least value; to the largest."""

    def __init__(self, values: list[float], is_logarithmic: bool):
        self.is_logarithmic, self.high = is_logarithmic, max(values)
        self.low = 10.0 ** math.floor(math.log10(min(values))) if is_logarithmic else 0

    def x(self, value: float) -> float:
        low, high, at = (math.log10(v) if self.is_logarithmic else v for v in (self.low, self.high, value))
        return LEFT + (at - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def ticks(self) -> list[float]:
        if self.is_logarithmic:
            powers = range(round(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
            return [10.0**power for power in powers]
        step = 10.0 ** math.floor(math.log10(self.high))
        step /= next(part for part in (1, 2, 5) if self.high / step * part >= 4)
        return [step * number for number in range(int(self.high / step + 1e-9) + 1)]


def legend(chart: Chart, bars: list[str], has_limit: bool) -> list[str]:
    parts, x = [], LEFT
    for row, bar in enumerate(bars):
        text = chart.bars[bar]
        parts.append(f'<rect class="b{row}" x="{x}" y="32" width="11" height="11" rx="2"/>'
                     f'<text x="{x + 16}" y="42">{escape(text)}</text>')
        x += 16 + 7 * len(text) + 18
    if has_limit:
        parts.append(f'<line class="limit" x1="{x + 5}" y1="31" x2="{x + 5}" y2="44"/>'
                     f'<text x="{x + 13}" y="42">the bare socket</text>')
    return parts


def group(chart: Chart, title: str, cells: dict[str, float], bars: list[str], scale: Scale, y: float) -> list[str]:
    height = len(bars) * (BAR + GAP)
    parts = [f'<text x="{LEFT - 10}" y="{y + height / 2 + 3:.1f}" text-anchor="end">{escape(title)}</text>']
    for row, bar in enumerate(bars):
        if bar not in cells:
            continue
        at, x = y + row * (BAR + GAP), scale.x(cells[bar])
        parts.append(f'<rect class="b{row}" x="{LEFT}" y="{at:.1f}" width="{x - LEFT:.1f}" height="{BAR}" rx="1"/>'
                     f'<text class="value" x="{x + 5:.1f}" y="{at + BAR - 2:.1f}">{chart.label(cells[bar])}</text>')
    if chart.limit in cells:
        x = scale.x(cells[chart.limit])
        parts.append(f'<line class="limit" x1="{x:.1f}" y1="{y - 2:.1f}" x2="{x:.1f}" y2="{y + height:.1f}"/>')
    return parts


def svg(chart: Chart, about: dict) -> str:
    """Empty if there is nothing to compare."""
    bars = [bar for bar in chart.bars if any(bar in cells for _, cells in chart.groups)]
    values = [cells[bar] for _, cells in chart.groups for bar in [*bars, chart.limit] if bar in cells]
    if not bars or len(values) < 2 or min(values) <= 0 or max(values) == min(values):
        return ""
    scale, step = Scale(values, chart.is_logarithmic), len(bars) * (BAR + GAP) + SPACE
    bottom = TOP + len(chart.groups) * step
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 30}" width="{WIDTH}" '
             f'height="{bottom + 30}" role="img" aria-label="{escape(chart.title)}">', f"<style>{STYLE}</style>",
             f'<text class="title" x="{LEFT}" y="19">{escape(chart.title)}</text>']
    parts += legend(chart, bars, any(chart.limit in cells for _, cells in chart.groups))
    for tick in scale.ticks():
        x = scale.x(tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{bottom - 4}"/>'
                     f'<text class="axis" x="{x:.1f}" y="{bottom + 9}" text-anchor="middle">{chart.label(tick)}</text>')
    for row, (title, cells) in enumerate(chart.groups):
        parts += group(chart, title, cells, bars, scale, TOP + row * step)
    parts.append(f'<text class="axis" x="{LEFT}" y="{bottom + 25}">{escape(about["processor"])}, commit '
                 f'{escape(about["commit"])}, {about["date"]}</text>')
    return "\n".join([*parts, "</svg>", ""])


# ---- The charts


def of_peers(results: dict, title: str, label: Callable[[float], str], groups: list, is_logarithmic: bool = False) -> Chart:
    about = results["about"]
    bars = {peer: f"{about['titles'][peer]} {about['versions'].get(peer, '')}" for peer in BARS}
    return Chart(title, label, bars, groups, LIMIT, is_logarithmic)


def headline(results: dict) -> Chart:
    shown = [(title, results["workloads"].get(name, {}).get("peers")) for name, title in HEADLINES.items()]
    groups = [(title, {peer: cell["cpu_ns"] for peer, cell in cells.items()}) for title, cells in shown if cells]
    return of_peers(results, "CPU time of the client per message of 64 bytes, logarithmic", duration, groups, True)


def broker(results: dict) -> Chart:
    groups = [(entry["title"], {peer: cell["per_s"] / 1000 for peer, cell in entry["peers"].items()})
              for entry in results.get("broker", {}).values()]
    return of_peers(results, "Messages a second through Mosquitto", thousands, groups)


def python(results: dict) -> Chart:
    groups = [(workload, {peer: cell["k_per_s"] for peer, cell in cells.items()})
              for workload, cells in results.get("python", {}).items()]
    bars = {peer: peer for _, cells in groups for peer in cells}
    return Chart("Python: messages a second", thousands, bars, groups)


def lines(results: dict) -> Chart:
    told = results.get("lines") or {"lines": 0, "qos": {}, "versions": {}}
    groups = [(f"QoS {qos}", {tool: cell["wall_s"] for tool, cell in cells.items() if cell["wall_s"]})
              for qos, cells in told["qos"].items()]
    bars = {tool: f"{COMMANDS[tool]} {version}" for tool, version in told["versions"].items()}
    return Chart(f"Seconds for {told['lines']:,} lines through Mosquitto", seconds, bars, groups)


def pictures(results: dict) -> dict[str, str]:
    """The files, without those for which the run has too little."""
    drawn = {f"{chart.__name__}.svg": svg(chart(results), results["about"]) for chart in (headline, broker, python, lines)}
    return {file: text for file, text in drawn.items() if text}
