/* SPDX-License-Identifier: MIT */
/*
 * Books as text, and back; see books.h. A line names where its class begins, not its place in a
 * table, so that what another version has saved never goes to a wrong class.
 */
#include "internal.h"
#include "proof/books.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char head[] = "riptide books 1\n";

enum { LINE_BYTES = 256 };

static size_t put_line(char *at, const struct book_cell *cell, unsigned int class, enum arm arm)
{
    unsigned int control = class % BOOK_CONTROLS, rtt = class / BOOK_CONTROLS % BOOK_RTTS;
    unsigned int size = class / BOOK_CONTROLS / BOOK_RTTS;

    if (cell->n == 0)
        return 0;
    return (size_t)snprintf(
        at, LINE_BYTES,
        "%s bytes=%" PRIu32 " rtt_us=%" PRIu32 " control=%s n=%" PRIu64 " n_again=%" PRIu64
        " time=%" PRIu64 ",%" PRIu64 " again=%" PRIu64 ",%" PRIu64 "\n",
        arm_name[arm], book_size_bytes[size], book_rtt_us[rtt], book_control[control], cell->n,
        cell->n_again, cell->time_sum, cell->time_squares, cell->again_sum, cell->again_squares);
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

/* One more than its place; 0: it has none. */
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

/* One line without its end, into the cell that it is of. */
static bool load_line(struct books *books, const char *line)
{
    unsigned int size, rtt, control, arm;
    struct book_cell cell = { 0 };
    char arm_text[16], control_text[16];
    uint32_t bytes, rtt_us;

    if (sscanf(line,
               "%15s bytes=%" SCNu32 " rtt_us=%" SCNu32 " control=%15s n=%" SCNu64
               " n_again=%" SCNu64 " time=%" SCNu64 ",%" SCNu64 " again=%" SCNu64 ",%" SCNu64,
               arm_text, &bytes, &rtt_us, control_text, &cell.n, &cell.n_again, &cell.time_sum,
               &cell.time_squares, &cell.again_sum, &cell.again_squares) != 10)
        return false;
    size = find_begin(book_size_bytes, BOOK_SIZES, bytes);
    rtt = find_begin(book_rtt_us, BOOK_RTTS, rtt_us);
    control = find_name(book_control, BOOK_CONTROLS, control_text);
    arm = find_name(arm_name, ARMS, arm_text);
    if (size == 0 || rtt == 0 || control == 0 || arm == 0 || !book_cell_is_valid(&cell))
        return false;
    book_cell_add(&books->cells[book_class(size - 1, rtt - 1, control - 1)][arm - 1], &cell);
    return true;
}

int books_load(struct books *books, const char *text, size_t size, uint32_t *n_skippedp,
               struct riptide_error *error)
{
    const char *end = text + size, *newline;
    uint32_t n_skipped = 0;

    if (size < sizeof(head) - 1 || memcmp(text, head, sizeof(head) - 1) != 0) {
        error_set(error, "books: not books of riptide, or of another version than 1");
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
