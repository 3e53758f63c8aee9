# SPDX-License-Identifier: MIT
"""Exports the windows of this host's open connections for node_exporter's textfile collector.

    textfile.py /var/lib/node_exporter/riptide.prom [--prefix-len4 16] [--prefix-len6 32]

One look, one file, written whole and renamed: run it from a timer. Needs no privilege and no
riptided. The number of series is that of the prefixes talked to, which the lengths bound.
"""

import argparse
from ipaddress import ip_network
from typing import Dict, List

import riptide
from prometheus_client import CollectorRegistry, Gauge, write_to_textfile


def by_prefix(samples: List[riptide.Sample], lengths: Dict[int, int]) -> Dict[str, List[riptide.Sample]]:
    """The connections of each prefix of these lengths, by IP version."""
    prefixes: Dict[str, List[riptide.Sample]] = {}
    for sample in samples:
        prefix = ip_network((sample.dst, lengths[sample.dst.version]), strict=False)
        prefixes.setdefault(str(prefix), []).append(sample)
    return prefixes


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
        rtt.labels(prefix).set(sum(s.rtt_us for s in samples) / len(samples) / 1e6)
    write_to_textfile(given.path, registry)


if __name__ == "__main__":
    main()
