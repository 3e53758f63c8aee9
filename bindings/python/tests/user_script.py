# SPDX-License-Identifier: MIT
"""What a user of the package would write, for mypy --strict: each call with the types it has."""

from __future__ import annotations

import asyncio
from ipaddress import IPv4Network, ip_address
from pathlib import Path

import riptide


def slow_destinations(limit_s: float) -> set[riptide.Network]:
    return {sample.dst for sample in riptide.observe() if sample.rtt > limit_s}


def merge(paths: list[Path], to: Path) -> int:
    with riptide.Estimator(ttl=3600, policy="paper") as fleet:
        loaded = sum(fleet.load(path.read_bytes()).loaded for path in paths)
        to.write_bytes(fleet.save())
    return loaded


def hold_down(prefix: IPv4Network) -> str:
    control = riptide.Control(timeout=2)
    control.hint(prefix, 600, cwnd_max=20)
    return str(control.status()["health"])


async def run(windows: dict[riptide.Network, int]) -> None:
    options: riptide.EstimatorConfig = {"policy": "paper"}
    scope = riptide.Scope(learn=["203.0.113.0/24"], local_ports=[443, (8000, 8999)])
    with riptide.Agent(interval=1, estimator=options, observer={"scope": scope}) as agent:
        agent.set_hint(riptide.Hint("10.0.0.0/8", cwnd_max=20))
        agent.start()
        async for event in agent:
            if event.window is not None and event.window.estimate is not None:
                windows[event.window.dst] = event.window.estimate.cwnd


def main() -> None:
    with riptide.Estimator(history_weight=0.75) as estimator:
        estimate = estimator.find(ip_address("203.0.113.7"))
    figures: tuple[int, float, int] = (estimate.cwnd, estimate.smoothed, estimate.cwnd_max)
    print(figures)
    asyncio.run(run({}))
