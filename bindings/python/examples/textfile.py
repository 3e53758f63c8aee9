# SPDX-License-Identifier: MIT
"""Exports the windows of this host's open connections for node_exporter's textfile collector.

    textfile.py /var/lib/node_exporter/riptide.prom [--prefix-len4 16] [--prefix-len6 32]

One look, one file, written whole and renamed: run it from a timer. Needs no privilege and no
riptided. The number of series is that of the prefixes talked to, which the lengths bound.
"""

import argparse
import os
import tempfile
from collections import defaultdict

import riptide
from prometheus_client import CollectorRegistry, Gauge, generate_latest


def by_prefix(samples: list[riptide.Sample],
              lengths: dict[int, int]) -> dict[str, list[riptide.Sample]]:
    """The connections of each prefix of these lengths, by IP version."""
    prefixes = defaultdict(list)
    for sample in samples:
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
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("path")
    parser.add_argument("--prefix-len4", type=int, default=16)
    parser.add_argument("--prefix-len6", type=int, default=32)
    given = parser.parse_args()

    registry = CollectorRegistry()
    connections = Gauge("tcp_connections", "Established connections.", ["prefix"],
                        registry=registry)
    window = Gauge("tcp_congestion_window_segments", "Mean congestion window.", ["prefix"],
                   registry=registry)
    rtt = Gauge("tcp_round_trip_time_seconds", "Mean smoothed round trip time.", ["prefix"],
                registry=registry)
    lengths = {4: given.prefix_len4, 6: given.prefix_len6}
    for prefix, samples in by_prefix(riptide.observe(), lengths).items():
        connections.labels(prefix).set(len(samples))
        window.labels(prefix).set(sum(s.cwnd for s in samples) / len(samples))
        rtt.labels(prefix).set(sum(s.rtt for s in samples) / len(samples))
    write(given.path, generate_latest(registry))


if __name__ == "__main__":
    main()
