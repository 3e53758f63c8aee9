# SPDX-License-Identifier: MIT
"""The same facts by pyroute2's socket for sock_diag, as columns."""

import ipaddress
from socket import AF_INET, AF_INET6

from pyroute2 import DiagSocket

ESTABLISHED = 1 << 1
INFO, CONGESTION = 1 << 1, 1 << 3
OF_HEADER = "idiag_family", "idiag_sport", "idiag_dport", "idiag_if"
OF_INFO = ("tcpi_snd_cwnd", "tcpi_rtt", "tcpi_min_rtt", "tcpi_snd_mss", "tcpi_pmtu", "tcpi_segs_out",
           "tcpi_data_segs_out", "tcpi_total_retrans", "tcpi_bytes_acked", "tcpi_delivery_rate",
           "tcpi_last_data_sent", "tcpi_ca_state")


def main():
    columns = {name: [] for name in ("dst", "congestion", *OF_HEADER, *OF_INFO)}
    with DiagSocket() as diag:
        diag.bind()
        for family in AF_INET, AF_INET6:
            for message in diag.get_sock_stats(family=family, states=ESTABLISHED,
                                               extensions=INFO | CONGESTION):
                info = message.get_attr("INET_DIAG_INFO")
                if not info:
                    continue
                columns["dst"].append(int(ipaddress.ip_address(message["idiag_dst"])))
                columns["congestion"].append(message.get_attr("INET_DIAG_CONG"))
                for name in OF_HEADER:
                    columns[name].append(message[name])
                for name in OF_INFO:
                    columns[name].append(info[name])
    print(len(columns["dst"]))


if __name__ == "__main__":
    main()
