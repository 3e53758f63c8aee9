# SPDX-License-Identifier: MIT
"""The same windows by pyroute2's socket for sock_diag: averaged per destination, and printed."""

from socket import AF_INET, AF_INET6

from pyroute2 import DiagSocket

ESTABLISHED = 1 << 1
INFO = 1 << 1


def main():
    observed = {}
    with DiagSocket() as diag:
        diag.bind()
        for family in AF_INET, AF_INET6:
            for message in diag.get_sock_stats(family=family, states=ESTABLISHED,
                                               extensions=INFO):
                info = message.get_attr("INET_DIAG_INFO")
                if info:
                    observed.setdefault(message["idiag_dst"], []).append(info["tcpi_snd_cwnd"])
    for destination, windows in observed.items():
        print(destination, sum(windows) / len(windows))


if __name__ == "__main__":
    main()
