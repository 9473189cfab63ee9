"""docs/growth.png of docs/growth.json, in the environment that has matplotlib: `python -m bench.growth --draw`."""

from __future__ import annotations

import json
import math
import statistics
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from bench.curves import Curve, apart, medians, short

DOCS = Path(__file__).parents[1] / "docs"
COLOURS = {"Tidemill": "#0b62c4", "graphile-worker": "#2e8540", "PgQueuer": "#b8570b", "one at a time": "#6e7781"}
INK, FAINT = "#1f2328", "#d8dee4"
GAP = 0.065  # of a panel's height, between two names
MILLISECONDS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
REACHED = 0.9  # of the wanted load

PANELS = {
    "ready": ("1  Backlog", "jobs ready when the drain begins"),
    "finished": ("2  History", "finished jobs kept in the tables"),
    "churned": ("3  Churn", "jobs worked off while a snapshot is open"),
}


UNITS = {"cpu": "jobs a second of CPU", "clock": "jobs a second"}


def main(per: str) -> None:
    found = json.loads((DOCS / "growth.json").read_text())
    plt.rcParams |= {"font.size": 10, "text.color": INK, "axes.edgecolor": FAINT, "axes.labelcolor": INK}
    figure, axes = plt.subplots(2, 2, figsize=(10.6, 7.4), facecolor="white")
    panels = axes.flatten()
    curves = {axis: medians(found["runs"], axis, per) for axis in PANELS}
    rates = [rate for named in curves.values() for curve in named.values() for _, rate in curve]
    for panel, (axis, (title, label)) in zip(panels, PANELS.items(), strict=False):
        dress(panel, title, label, UNITS[per], rates)
        drain_rate(panel, axis, curves[axis])
    waits = {name: waited(found["pickup"], name) for name in ("p50", "p99")}
    times = [time for curve in waits.values() for _, time in curve]
    dress(panels[3], "4  Pickup by Tidemill", "deliveries a second", "ms from 202 to the handler", times)
    pickup(panels[3], waits, waited(found["pickup"], "reached"))
    said = f"{found['cores']} cores for worker and server together; medians of {len(found['load_average'])} rounds"
    figure.text(0.995, 0.01, said, ha="right", color=COLOURS["one at a time"], fontsize=8)
    figure.tight_layout(w_pad=1, h_pad=2, rect=(0, 0.025, 1, 1))
    figure.savefig(DOCS / "growth.png", dpi=110, facecolor="white")


def dress(panel: Axes, title: str, label: str, unit: str, values: list[float]) -> None:
    """Everything but the curves. Panels with the same values have the same height."""
    panel.set_title(title, loc="left", fontweight="bold", pad=10)
    panel.set_xlabel(label)
    panel.set_ylabel(unit)
    panel.set_yscale("log")
    panel.set_ylim(min(values) / 1.6, max(values) * 1.6)
    panel.grid(True, color=FAINT, linewidth=0.7)
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(which="both", length=0)


def drain_rate(panel: Axes, axis: str, curves: dict[str, Curve]) -> None:
    if axis == "ready":
        panel.set_xscale("log")
    end = max(at for curve in curves.values() for at, _ in curve)
    for name, curve in curves.items():
        line(panel, curve, COLOURS[name], name == "Tidemill")
        if len(curve) == 1:  # it keeps none of them: the same tables all along
            panel.plot([curve[0][0], end], [curve[0][1]] * 2, color=COLOURS[name], linewidth=1.6, linestyle=(0, (2, 2)))
    name_ends(panel, curves, COLOURS, "Tidemill")


def waited(loads: list[dict[str, Any]], what: str) -> Curve:
    """The medians of `what` at each load."""
    rates = sorted({load["rate"] for load in loads})
    return [(rate, statistics.median(load[what] for load in loads if load["rate"] == rate)) for rate in rates]


def pickup(panel: Axes, waits: dict[str, Curve], reached: Curve) -> None:
    panel.set_xscale("log")
    panel.set_xticks([rate for rate, _ in reached])
    low, high = panel.get_ylim()
    panel.set_yticks([time for time in MILLISECONDS if low <= time <= high])
    solid = sum(got >= REACHED * rate for rate, got in reached)
    for name, curve in waits.items():
        line(panel, curve[:solid], COLOURS["Tidemill"], name == "p50")
        for rate, time in curve[solid:]:
            panel.plot(rate, time, "o", color=COLOURS["Tidemill"], markerfacecolor="white")
    if solid < len(reached):
        most = max(got for _, got in reached[solid:])
        said = f"hollow: {short(most)} a second\nwere reached, not more"
        panel.text(reached[solid][0] * 0.85, low * 1.1, said, color=COLOURS["one at a time"], fontsize=9, va="bottom")
    name_ends(panel, waits, dict.fromkeys(waits, COLOURS["Tidemill"]), "p50", " ms")


def line(panel: Axes, curve: Curve, colour: str, bold: bool) -> None:
    width = 2.6 if bold else 1.6
    panel.plot(*zip(*curve, strict=True), color=colour, linewidth=width, marker="o", markersize=2 * width)


def name_ends(panel: Axes, curves: dict[str, Curve], colours: dict[str, str], bold: str, unit: str = "") -> None:
    """Each curve's name and last value, right of the panel at its height."""
    low, high = (math.log10(limit) for limit in panel.get_ylim())
    heights = apart([(math.log10(curve[-1][1]) - low) / (high - low) for curve in curves.values()], GAP)
    for (name, curve), height in zip(curves.items(), heights, strict=True):
        panel.text(
            1.03, height, f"{name} {short(curve[-1][1])}{unit}", transform=panel.transAxes, color=colours[name], va="center",
            fontweight="bold" if name == bold else "normal",
        )  # fmt: skip
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda number, _: short(number)))
        axis.set_minor_formatter(NullFormatter())


if __name__ == "__main__":
    main(sys.argv[1])
