/* SPDX-License-Identifier: MIT */
/* The values that connections add, their sums, and these as text; see books.h. */
#include "verdict/books.h"

#include "internal.h"
#include "verdict/numbers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const uint32_t book_size_bytes[BOOK_SIZES] = {
    0, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 4 << 20,
};
const uint32_t book_rtt_us[BOOK_RTTS] = { 5000, 20000, 50000, 100000, 150000, 300000 };
const char *const arm_name[ARMS] = { "window", "holdout" };
const char *const phase_name[HOLDOUT_PHASES] = { "first", "settled" };

/* The sum of squares of that many largest outcomes still fits. */
#define MOST_CONNECTIONS (UINT64_C(1) << 35)

/* The longest time: a million round trips. */
enum { MOST_DOUBLINGS = 20, MOST_TIME = MOST_DOUBLINGS * BOOK_TIME_ONE };

/* Searches from below: most transfers are small, and most paths short. */
static inline unsigned int find_group(const uint32_t *begins, unsigned int n, uint64_t value)
{
    unsigned int i = 0;

    while (i + 1 < n && value >= begins[i + 1])
        i++;
    return i;
}

unsigned int book_rtt_group(uint32_t min_rtt_us)
{
    return find_group(book_rtt_us, BOOK_RTTS, min_rtt_us);
}

static struct book_cell half_of(struct book_cell cell)
{
    return (struct book_cell){ cell.n / 2,         cell.n_again / 2,
                               cell.time_sum / 2,  cell.time_squares / 2,
                               cell.again_sum / 2, cell.again_squares / 2 };
}

static inline void add(struct book_cell *cell, struct book_cell more)
{
    /* Keeps means and variances. */
    while (cell->n + more.n > MOST_CONNECTIONS) {
        if (cell->n >= more.n)
            *cell = half_of(*cell);
        else
            more = half_of(more);
    }
    cell->n += more.n;
    cell->n_again += more.n_again;
    cell->time_sum += more.time_sum;
    cell->time_squares += more.time_squares;
    cell->again_sum += more.again_sum;
    cell->again_squares += more.again_squares;
}

void book_cell_add(struct book_cell *cell, const struct book_cell *other)
{
    add(cell, *other);
}

/* Sums of squares are at least those of equal outcomes, except for rounding by halving. */
static bool sums_fit(uint64_t n, uint64_t sum, uint64_t squares, uint64_t most)
{
    return sum <= n * most && (double)squares <= (double)sum * (double)most &&
           (double)sum * (double)sum <= (double)n * (double)squares * (1 + 1e-9);
}

bool book_cell_is_valid(const struct book_cell *cell)
{
    return cell->n <= MOST_CONNECTIONS && cell->n_again <= cell->n &&
           sums_fit(cell->n, cell->time_sum, cell->time_squares, MOST_TIME) &&
           sums_fit(cell->n, cell->again_sum, cell->again_squares, BOOK_AGAIN_ONE);
}

static uint32_t class_rtt_us(const struct riptide_sample *sample, uint32_t path_rtt_us)
{
    return path_rtt_us > 0 ? path_rtt_us : sample->min_rtt_us;
}

/* Whether it counts. */
static enum book_entry judge(const struct riptide_sample *sample, uint32_t path_rtt_us)
{
    uint64_t sent = sample->data_segs_out, mss_bytes = sample->mss_bytes;
    uint64_t once = sent > sample->retrans_segs ? sent - sample->retrans_segs : 1;

    if (!sample->closed)
        return BOOK_OPEN;
    if (sample->busy_time_us == 0 || sample->min_rtt_us == 0 || mss_bytes == 0 || sent == 0 ||
        class_rtt_us(sample, path_rtt_us) < book_rtt_us[0])
        return BOOK_UNMEASURED;
    if (sample->acked_bytes <= KERNEL_CWND * mss_bytes)
        return BOOK_SMALL;
    return sample->acked_bytes < once * mss_bytes / 2 ? BOOK_APPLICATION : BOOK_ENTERED;
}

/* Jiffies can make a time shorter than a round trip, but data takes at least one. */
static uint64_t time_of(const struct riptide_sample *sample)
{
    double rounds = (double)sample->busy_time_us / sample->min_rtt_us;
    double most = 1 << MOST_DOUBLINGS;

    return (uint64_t)(binary_log(lesser(greater(rounds, 1), most)) * BOOK_TIME_ONE + 0.5);
}

static uint64_t again_of(const struct riptide_sample *sample)
{
    uint64_t again = sample->retrans_segs, sent = sample->data_segs_out;

    if (again == 0)
        return 0;
    return again < sent ? (again * BOOK_AGAIN_ONE + sent / 2) / sent : BOOK_AGAIN_ONE;
}

enum book_entry book_line_of(struct book_line *line, enum holdout_phase phase,
                             const struct riptide_sample *sample, uint32_t path_rtt_us)
{
    enum book_entry entry = judge(sample, path_rtt_us);
    unsigned int size, rtt;
    uint64_t time, again;

    if (entry != BOOK_ENTERED)
        return entry;
    time = time_of(sample);
    again = again_of(sample);
    size = find_group(book_size_bytes, BOOK_SIZES, sample->acked_bytes);
    rtt = book_rtt_group(class_rtt_us(sample, path_rtt_us));
    line->class = book_class(phase, size, rtt);
    line->outcome =
        (struct book_cell){ 1, sample->retrans_segs > 0, time, time * time, again, again * again };
    return BOOK_ENTERED;
}

void books_put(struct books *books, enum arm arm, const struct book_line *line)
{
    add(&books->cells[line->class][arm], line->outcome);
}

void books_add(struct books *books, const struct books *others)
{
    for (size_t i = 0; i < BOOK_CLASSES; i++) {
        for (size_t arm = 0; arm < ARMS; arm++)
            book_cell_add(&books->cells[i][arm], &others->cells[i][arm]);
    }
}

uint64_t books_count(const struct books *books)
{
    uint64_t n = 0;

    for (size_t i = 0; i < (size_t)BOOK_CLASSES * ARMS; i++)
        n += books->cells[i / ARMS][i % ARMS].n;
    return n;
}

double books_due(const struct books *books, const struct arm_config *arms)
{
    double due = 0;

    for (unsigned int class = 0; class < BOOK_CLASSES; class ++) {
        const struct book_cell *cells = books->cells[class];

        due += (double)(cells[ARM_WINDOW].n + cells[ARM_HOLDOUT].n) *
               phase_percent(arms, book_phase(class)) / 100;
    }
    return due;
}

/*
 * A line names where its class begins, not its index, so that lines of another version never go to
 * a wrong class.
 */
static const char head[] = "riptide books 2\n";

enum { LINE_BYTES = 256 };

static size_t put_line(char *at, const struct book_cell *cell, unsigned int class, enum arm arm)
{
    unsigned int rtt = class % BOOK_RTTS, size = class / BOOK_RTTS % BOOK_SIZES;

    if (cell->n == 0)
        return 0;
    return (size_t)snprintf(
        at, LINE_BYTES,
        "%s phase=%s bytes=%" PRIu32 " rtt_us=%" PRIu32 " n=%" PRIu64 " n_again=%" PRIu64
        " time=%" PRIu64 ",%" PRIu64 " again=%" PRIu64 ",%" PRIu64 "\n",
        arm_name[arm], phase_name[book_phase(class)], book_size_bytes[size], book_rtt_us[rtt],
        cell->n, cell->n_again, cell->time_sum, cell->time_squares, cell->again_sum,
        cell->again_squares);
}

size_t books_save(const struct books *books, char *text, size_t size)
{
    size_t n = sizeof(head) - 1, most = n + (size_t)BOOK_CLASSES * ARMS * LINE_BYTES;

    if (size < most)
        return most;
    memcpy(text, head, n);
    for (unsigned int class = 0; class < BOOK_CLASSES; class ++) {
        for (enum arm arm = 0; arm < ARMS; arm++)
            n += put_line(text + n, &books->cells[class][arm], class, arm);
    }
    return n;
}

/* The index of the name plus one; 0: unknown. */
static unsigned int find_name(const char *const *names, unsigned int n, const char *name)
{
    while (n > 0 && strcmp(names[n - 1], name) != 0)
        n--;
    return n;
}

static unsigned int find_begin(const uint32_t *begins, unsigned int n, uint32_t begin)
{
    while (n > 0 && begins[n - 1] != begin)
        n--;
    return n;
}

/* Parses one line without its end into its cell. */
static bool load_line(struct books *books, const char *line)
{
    unsigned int size, rtt, phase, arm;
    struct book_cell cell = { 0 };
    char arm_text[16], phase_text[16];
    uint32_t bytes, rtt_us;

    if (sscanf(line,
               "%15s phase=%15s bytes=%" SCNu32 " rtt_us=%" SCNu32 " n=%" SCNu64
               " n_again=%" SCNu64 " time=%" SCNu64 ",%" SCNu64 " again=%" SCNu64 ",%" SCNu64,
               arm_text, phase_text, &bytes, &rtt_us, &cell.n, &cell.n_again, &cell.time_sum,
               &cell.time_squares, &cell.again_sum, &cell.again_squares) != 10)
        return false;
    size = find_begin(book_size_bytes, BOOK_SIZES, bytes);
    rtt = find_begin(book_rtt_us, BOOK_RTTS, rtt_us);
    phase = find_name(phase_name, HOLDOUT_PHASES, phase_text);
    arm = find_name(arm_name, ARMS, arm_text);
    if (size == 0 || rtt == 0 || phase == 0 || arm == 0 || !book_cell_is_valid(&cell))
        return false;
    book_cell_add(&books->cells[book_class(phase - 1, size - 1, rtt - 1)][arm - 1], &cell);
    return true;
}

int books_load(struct books *books, const char *text, size_t size, uint32_t *n_skippedp,
               struct riptide_error *error)
{
    const char *end = text + size, *newline;
    uint32_t n_skipped = 0;

    if (size < sizeof(head) - 1 || memcmp(text, head, sizeof(head) - 1) != 0) {
        error_set(error, "books: not books of riptide, or of another version than 2");
        return -EINVAL;
    }
    for (text += sizeof(head) - 1; text < end; text = newline + 1) {
        char line[LINE_BYTES];
        size_t len;

        newline = memchr(text, '\n', (size_t)(end - text));
        if (!newline) {
            n_skipped++; /* it was cut off */
            break;
        }
        len = (size_t)(newline - text) < LINE_BYTES ? (size_t)(newline - text) : LINE_BYTES - 1;
        memcpy(line, text, len);
        line[len] = 0;
        n_skipped += !load_line(books, line);
    }
    if (n_skippedp)
        *n_skippedp = n_skipped;
    return 0;
}
