/* SPDX-License-Identifier: MIT */
/*
 * Any bytes after the first line of books: they load line by line, and the saved text loads as the
 * same; and whatever the sums, a verdict has finite, ordered figures.
 */
#include "proof/verdict.h"

#include "case_bytes.h"
#include "target.h"

#include <math.h>
#include <string.h>

static const char head[] = "riptide books 1\n";

static char *save(const struct books *books, size_t *np)
{
    size_t size = books_save(books, NULL, 0);
    char *text = malloc(size);

    CASE_CHECK(text);
    *np = books_save(books, text, size);
    CASE_CHECK(*np <= size);
    return text;
}

/* Saves and loads again; also for the sums of two hosts with the same books. */
static void check_again(const struct books *books)
{
    struct books again = { 0 }, twice = *books;
    size_t n, n_again;
    char *text = save(books, &n), *other;
    uint32_t n_skipped;

    CASE_CHECK(books_load(&again, text, n, &n_skipped, NULL) == 0 && n_skipped == 0);
    other = save(&again, &n_again);
    CASE_CHECK(n == n_again && memcmp(text, other, n) == 0);
    free(text);
    free(other);
    books_add(&twice, books);
    for (unsigned int class = 0; class < BOOK_CLASSES; class ++) {
        for (unsigned int arm = 0; arm < ARMS; arm++)
            CASE_CHECK(book_cell_is_valid(&twice.cells[class][arm]));
    }
}

static void check_interval(const struct riptide_interval *interval)
{
    CASE_CHECK(isfinite(interval->low) && isfinite(interval->high));
    CASE_CHECK(interval->low <= interval->estimate && interval->estimate <= interval->high);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t size = sizeof(head) - 1 + n;
    char *text = malloc(size);
    struct books books = { 0 };
    struct verdict verdict;

    CASE_CHECK(text);
    memcpy(text, head, sizeof(head) - 1);
    memcpy(text + sizeof(head) - 1, data, n);
    CASE_CHECK(books_load(&books, text, size, NULL, NULL) == 0);
    free(text);
    check_again(&books);
    if (verdict_compute(&verdict, &books, ARM_WINDOW, ARM_HOLDOUT, (struct verdict_classes){ 0 },
                        0.95) == 0) {
        check_interval(&verdict.time);
        check_interval(&verdict.rounds_saved);
        check_interval(&verdict.again);
        check_interval(&verdict.share);
    }
    return 0;
}
