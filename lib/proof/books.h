/* SPDX-License-Identifier: MIT */
/*
 * Books of outcomes: for each class of connections and each arm, sums over those that have closed,
 * in 27 KB. Sums of integers: those of two hosts, or of two days, are added without loss, in any
 * order. docs/proof.md has what they show. Pure.
 */
#ifndef RIPTIDE_LIB_PROOF_BOOKS_H
#define RIPTIDE_LIB_PROOF_BOOKS_H

#include "arm.h"

#include <riptide/observe.h>

/* Classes: bytes acknowledged x smallest round trip time x congestion control. */
enum {
    BOOK_SIZES = 8,
    BOOK_RTTS = 6,
    BOOK_CONTROLS = 3,
    BOOK_CLASSES = BOOK_SIZES * BOOK_RTTS * BOOK_CONTROLS, /* 144 */
};

/* Where each class begins; the last ones have no end. */
extern const uint32_t book_size_bytes[BOOK_SIZES];
extern const uint32_t book_rtt_us[BOOK_RTTS];

/* Which of these; the first one where it is less. */
unsigned int book_rtt_group(uint32_t min_rtt_us);

/*
 * Names that begin with bbr; "loss", which is all others; and "unknown", no name. A destroy event
 * has none: who enters it says which one its connection has had.
 */
extern const char *const book_control[BOOK_CONTROLS];
unsigned int book_control_of(const char *name);

extern const char *const arm_name[ARMS];

/* Units of the sums: of a doubling of time, and of all segments of a connection. */
enum { BOOK_TIME_ONE = 1 << 10, BOOK_AGAIN_ONE = 1 << 14 };

/*
 * Time is the binary logarithm of busy time in smallest round trip times of the connection itself,
 * which makes paths comparable, and an effect the same factor for all of them. Means of times
 * wander with their last timeout of a hundred round trips; in the logarithm it counts as four
 * connections that took three times as long. Medians and trimmed means would not see at all what
 * brings timeouts to one connection in fifty.
 */
struct book_cell {
    uint64_t n;             /* connections; halved, with all sums, at 2^35 */
    uint64_t n_again;       /* of them, that have sent a segment again */
    uint64_t time_sum;      /* 1 / BOOK_TIME_ONE each, up to 20 */
    uint64_t time_squares;  /* of those */
    uint64_t again_sum;     /* segments sent again by all segments with data, 1 / BOOK_AGAIN_ONE */
    uint64_t again_squares; /* of those */
};

/* For those who read cells: whether any connections can have such sums; and their sum. */
bool book_cell_is_valid(const struct book_cell *cell);
void book_cell_add(struct book_cell *cell, const struct book_cell *other);

/*
 * Doublings of a round trip that a connection took (see above) more than slow start from KERNEL_CWND
 * takes for as many bytes, so that sizes compare; -5 to 20. And one that counts, into a cell of its
 * own with that as time, 5 added, at most 20.
 */
double book_doublings(const struct riptide_sample *sample);
void book_cell_enter(struct book_cell *cell, const struct riptide_sample *sample);

/* All zero is empty. */
struct books {
    struct book_cell cells[BOOK_CLASSES][ARMS];
};

/* What a connection adds to the cell of its class and arm. */
struct book_line {
    unsigned int class;
    struct book_cell outcome;
};

/* Which class that is, by the places in the tables above. */
static inline unsigned int book_class(unsigned int size, unsigned int rtt, unsigned int control)
{
    return (size * BOOK_RTTS + rtt) * BOOK_CONTROLS + control;
}

/*
 * Why a connection does not count: those that a window cannot help dilute what it does for others.
 * None of these may depend on the arm, as a connection's own smallest round trip time does: one that
 * takes more round trips measures more of them. Nothing tells when a connection opened: let some time pass
 * between an arm's begin and the first entry, as older ones have another window than their arm
 * says; those left make an effect smaller, and never one.
 */
enum book_entry {
    BOOK_ENTERED,
    BOOK_OPEN,       /* sample.closed is false: there is more to come */
    BOOK_UNMEASURED, /* before Linux 4.10; or below 5 ms, as busy time is in jiffies (1 to 10 ms) */
    BOOK_SMALL,      /* acked_bytes within the smallest window that arms differ in */
    BOOK_APPLICATION, /* writes pieces: segments are shorter than half of mss_bytes on average */
    BOOK_ENTRIES,
};

/* Whether this one counts: as book_line_of, for those that enter it elsewhere. */
enum book_entry book_judge(const struct riptide_sample *sample, uint32_t path_rtt_us,
                           uint32_t smaller_cwnd);

/*
 * A connection that has closed as a line, where it counts, and the line into books, with its arm. All
 * that closed are to be given here, those that a dump has shown among them, and all were drawn with
 * the same shares. `path_rtt_us` is the
 * smallest round trip time of its destination, of all arms, by which it has its class; 0: not known,
 * its own. `smaller_cwnd` is the smallest window of the arms in force, segments; the holdout's is
 * the kernel's 10. `control` is its place in book_control.
 *
 * From tcp_info, of which a destroy event has all: tcpi_busy_time (time with data not yet
 * acknowledged, so pauses between requests do not count), tcpi_min_rtt, tcpi_bytes_acked,
 * tcpi_snd_mss, tcpi_data_segs_out (segments sent again included), tcpi_total_retrans (SYNs
 * included). Not tcpi_delivery_rate_app_limited, as every transfer ends with too little to send, nor
 * tcpi_rwnd_limited, as a larger window meets the peer's sooner: that would leave out more of one
 * arm. A connection that was reset counts with what was acknowledged by then.
 */
enum book_entry book_line_of(struct book_line *line, unsigned int control,
                             const struct riptide_sample *sample, uint32_t path_rtt_us,
                             uint32_t smaller_cwnd);
void books_put(struct books *books, enum arm arm, const struct book_line *line);

/*
 * Both into `books`, which is for the same shares of arms: where one host holds out more than
 * another, what differs between the hosts would look like an effect.
 */
void books_add(struct books *books, const struct books *others);

/* Connections in them, of all arms; and how many of these were to be held out. */
uint64_t books_count(const struct books *books);
uint64_t books_due(const struct books *books, uint32_t holdout_percent);

/*
 * As text: a line with the version, and one for each cell with connections:
 *
 *     riptide books 1
 *     holdout bytes=65536 rtt_us=150000 control=bbr n=40 n_again=2 time=..,.. again=..,..
 *
 * Returns how many bytes it takes, at most, without a zero; `text` is written where `size` is that
 * much, and then the number of bytes written is returned.
 */
size_t books_save(const struct books *books, char *text, size_t size);

/*
 * Adds what was saved, so that loading several pools them. Lines of classes that this version does
 * not have, or whose sums cannot be true, are passed over and counted in *n_skippedp (may be NULL).
 * Returns -EINVAL with a line where the first one is not of books of this version.
 */
int books_load(struct books *books, const char *text, size_t size, uint32_t *n_skippedp,
               struct riptide_error *error);

#endif
