# SPDX-License-Identifier: MIT
"""Exports the windows of this host's open connections for node_exporter's textfile collector.

    textfile.py /var/lib/node_exporter/riptide.prom 16 32

One look, one file, written whole and renamed: run it from a timer. Needs no privilege and no
riptided. The number of series is that of the prefixes talked to, which the lengths bound.
"""

import os
import sys
import tempfile
from collections import defaultdict

import riptide
from prometheus_client import CollectorRegistry, Gauge, generate_latest


def by_prefix(lengths: dict[int, int]) -> dict[str, list[riptide.Sample]]:
    """The connections of each prefix of these lengths, by IP version."""
    prefixes = defaultdict(list)
    for sample in riptide.observe():
        prefix = sample.dst.supernet(new_prefix=lengths[sample.dst.version])
        prefixes[str(prefix)].append(sample)
    return prefixes


def write(path: str, text: bytes) -> None:
    """Writes the file whole, or not at all; a link of that name is replaced, not followed."""
    fd, name = tempfile.mkstemp(prefix=".riptide", dir=os.path.dirname(path) or ".")
    try:
        with open(fd, "wb") as file:
            file.write(text)
            os.fchmod(fd, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def main() -> None:
    path, len4, len6 = sys.argv[1:]
    registry = CollectorRegistry()
    connections = Gauge("tcp_connections", "Established connections.", ["prefix"],
                        registry=registry)
    window = Gauge("tcp_congestion_window_segments", "Mean congestion window.", ["prefix"],
                   registry=registry)
    for prefix, samples in by_prefix({4: int(len4), 6: int(len6)}).items():
        connections.labels(prefix).set(len(samples))
        window.labels(prefix).set(sum(s.cwnd for s in samples) / len(samples))
    write(path, generate_latest(registry))


if __name__ == "__main__":
    main()
