/* SPDX-License-Identifier: MIT */
/* Figures of TCP, of its kernel, and of ours beside these. Compiles for BPF. */
#ifndef RIPTIDE_LIB_TCP_H
#define RIPTIDE_LIB_TCP_H

enum {
    TCP_INIT_CWND = 10, /* the kernel's initial window, segments (include/net/tcp.h, RFC 6928) */
    START_CWND = 24,    /* ours where nothing is known, or nothing can be paced: in wide use */
    ETHERNET_MSS_BYTES = 1460, /* without TCP options */
    RTO_MIN_US = 200000,       /* its smallest retransmission timeout, TCP_RTO_MIN */
    /*
     * Half a round trip is TCP's own rate in slow start, which needs no callback and no rate of
     * ours. On shorter paths nothing is paced: a flight that leaves at once is over sooner than a
     * timer.
     */
    TCP_PACING_PERCENT = 50,
    PACING_RTT_MIN_US = 5000,
};

#endif
