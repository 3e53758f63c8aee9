/* SPDX-License-Identifier: MIT */
/*
 * Half a round trip is TCP's own rate in slow start, which needs no callback and no rate of ours.
 * On shorter paths nothing is paced: a flight that leaves at once is over sooner than a timer.
 */
#ifndef RIPTIDE_LIB_PACING_H
#define RIPTIDE_LIB_PACING_H

enum { TCP_PACING_PERCENT = 50, PACING_RTT_MIN_US = 5000 };

/* In wide use, and harmless: while nothing is known, and by routes where the window must be paced.
 */
enum { START_CWND = 24 };

#endif
