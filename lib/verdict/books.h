/* SPDX-License-Identifier: MIT */
/*
 * Books of outcomes: for each class of connections and each arm, sums over closed connections, in
 * 9 KB. The sums are integers, so those of two hosts, or two days, add up exactly in any order.
 * docs/verdict.md explains their use. Pure.
 */
#ifndef RIPTIDE_LIB_VERDICT_BOOKS_H
#define RIPTIDE_LIB_VERDICT_BOOKS_H

#include "arm.h"

#include <riptide/observe.h>

/*
 * Classes: phase x bytes acknowledged x smallest round trip time. Shares differ between phases, so
 * connections are compared within one only.
 */
enum {
    BOOK_SIZES = 8,
    BOOK_RTTS = 6,
    BOOK_CLASSES = HOLDOUT_PHASES * BOOK_SIZES * BOOK_RTTS, /* 96 */
};

/* Where each class begins; the last ones have no upper bound. */
extern const uint32_t book_size_bytes[BOOK_SIZES];
extern const uint32_t book_rtt_us[BOOK_RTTS];

/* Its group; the first one if it is below all. */
unsigned int book_rtt_group(uint32_t min_rtt_us);

extern const char *const arm_name[ARMS];
extern const char *const phase_name[HOLDOUT_PHASES];

/* The share of a phase, percent. */
static inline double phase_percent(const struct arm_config *arms, enum holdout_phase phase)
{
    return phase == HOLDOUT_FIRST ? arms->holdout_percent : SETTLED_PERCENT;
}

/* Units of the sums: of a doubling of time, and of all segments of a connection. */
enum { BOOK_TIME_ONE = 1 << 10, BOOK_AGAIN_ONE = 1 << 14 };

/*
 * Time is the binary logarithm of busy time in smallest round trip times of the connection itself,
 * so that paths are comparable, and an effect is the same factor for all. A mean of plain times
 * would depend on single timeouts of a hundred round trips; in the logarithm one counts as four
 * connections that took three times as long. Medians and trimmed means would not show an effect
 * that causes timeouts for one connection in fifty.
 */
struct book_cell {
    uint64_t n;             /* connections; halved, with all sums, at 2^35 */
    uint64_t n_again;       /* of them, those with retransmissions */
    uint64_t time_sum;      /* 1 / BOOK_TIME_ONE each, up to 20 */
    uint64_t time_squares;  /* of those */
    uint64_t again_sum;     /* retransmitted segments by all segments with data, 1 / BOOK_AGAIN_ONE
                             */
    uint64_t again_squares; /* of those */
};

/* For loaded cells: whether any connections can have such sums. And adding two cells. */
bool book_cell_is_valid(const struct book_cell *cell);
void book_cell_add(struct book_cell *cell, const struct book_cell *other);

/* All zero is empty. */
struct books {
    struct book_cell cells[BOOK_CLASSES][ARMS];
};

/* The values that a connection adds to the cell of its class and arm. */
struct book_line {
    unsigned int class;
    struct book_cell outcome;
};

/* The class of indices of the tables above, and back. */
static inline unsigned int book_class(enum holdout_phase phase, unsigned int size, unsigned int rtt)
{
    return (phase * BOOK_SIZES + size) * BOOK_RTTS + rtt;
}

static inline enum holdout_phase book_phase(unsigned int class)
{
    return (enum holdout_phase)(class / BOOK_RTTS / BOOK_SIZES);
}

/*
 * Why a connection does not count: connections that no window can help dilute the effect on others.
 * None of these reasons may depend on the arm, as a connection's own smallest round trip time does:
 * one that takes more round trips measures more of them. The time of opening is unknown, so let
 * some time pass between the begin of an arm and the first entry, as older connections have another
 * window than their arm's; remaining ones make an effect smaller, but never create one.
 */
enum book_entry {
    BOOK_ENTERED,
    BOOK_OPEN,       /* sample.closed is false: it is still open */
    BOOK_UNMEASURED, /* before Linux 4.10; or below 5 ms, as busy time is in jiffies (1 to 10 ms) */
    BOOK_SMALL,      /* acked_bytes within the kernel's window, by which arms do not differ */
    BOOK_WITHOUT, /* it opened without a window, so that no arm was drawn; not by book_line_of */
    BOOK_APPLICATION, /* writes pieces: segments are on average shorter than half of mss_bytes */
    BOOK_ENTRIES,
};

/*
 * Makes a line of a closed connection, if it counts; and adds the line to books, with its arm. Pass
 * all closed connections, also those that a dump has shown; all must be drawn with the same shares.
 * `path_rtt_us` is the smallest round trip time of its destination, of both arms, which determines
 * the class; 0: unknown, its own counts. `phase` is the one in which the connection opened.
 *
 * Uses of tcp_info, which a destroy event has completely: tcpi_busy_time (time with data not yet
 * acknowledged, so pauses between requests do not count), tcpi_min_rtt, tcpi_bytes_acked,
 * tcpi_snd_mss, tcpi_data_segs_out (retransmissions included), tcpi_total_retrans (SYNs included).
 * Not tcpi_delivery_rate_app_limited, as every transfer ends with too little to send, nor
 * tcpi_rwnd_limited, as a larger window reaches the peer's sooner: that would exclude more of one
 * arm. A reset connection counts with the data acknowledged by then.
 */
enum book_entry book_line_of(struct book_line *line, enum holdout_phase phase,
                             const struct riptide_sample *sample, uint32_t path_rtt_us);
void books_put(struct books *books, enum arm arm, const struct book_line *line);

/*
 * Adds `others` to `books`. Both must have the same shares of arms: if one host holds out more than
 * another, differences between the hosts would look like an effect.
 */
void books_add(struct books *books, const struct books *others);

/* Number of connections, of both arms; and of those that should have been held out. */
uint64_t books_count(const struct books *books);
double books_due(const struct books *books, const struct arm_config *arms);

/*
 * As text: a line with the version, and one for each cell with connections:
 *
 *     riptide books 2
 *     holdout phase=first bytes=65536 rtt_us=150000 n=40 n_again=2 time=..,.. again=..,..
 *
 * Returns an upper bound of its bytes, without a terminating zero; if `size` is at least that,
 * writes `text` and returns the number of bytes written.
 */
size_t books_save(const struct books *books, char *text, size_t size);

/*
 * Adds saved books, so that loading several pools them. Skips lines of classes that this version
 * lacks, or with impossible sums, and counts them in *n_skippedp (may be NULL). Returns -EINVAL
 * with a line if the first line is not that of books of this version.
 */
int books_load(struct books *books, const char *text, size_t size, uint32_t *n_skippedp,
               struct riptide_error *error);

#endif
