# SPDX-License-Identifier: MIT
"""Merges what the hosts of a PoP have learned into one state, for a new host to start with.

    fleet_merge.py host1.state host2.state ... --output pop.state [--prefix 203.0.113.0/24]

The files are those of `riptide save` or of riptided's `state` option. Of each destination the
newer window counts, and of trials which window they were on, not what they have shown: that is
each host's own to say. A file that is damaged or of another kind is named and left out.
`riptide load pop.state` on the new host takes the result.
"""

import argparse
import ipaddress
import sys

import riptide


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--output", required=True)
    parser.add_argument("--prefix", type=ipaddress.ip_network, help="list what is known within it")
    parser.add_argument("--policy", default="careful", help="of the hosts (default careful)")
    parser.add_argument("--prefix-len4", type=int, default=32, help="of the hosts (default 32)")
    parser.add_argument("--prefix-len6", type=int, default=128, help="of the hosts (default 128)")
    given = parser.parse_args()

    refused = 0
    with riptide.Estimator(policy=given.policy, prefix_len4=given.prefix_len4,
                           prefix_len6=given.prefix_len6, max_destinations=1_000_000) as fleet:
        for path in given.files:
            try:
                counts = fleet.load(path)
            except OSError as error:
                print(error.strerror, file=sys.stderr)
                refused += 1
                continue
            print(f"{path}: {counts.loaded} taken over, {counts.older} older than another host's, "
                  f"{counts.expired} expired, {counts.regrouped} of other prefix lengths")
        fleet.save(given.output)
        for known in fleet:
            if given.prefix and known.dst.network_address in given.prefix:
                print(f"{known.dst} {known.cwnd} segments, {known.samples} connections")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
