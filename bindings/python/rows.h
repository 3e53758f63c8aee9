/* SPDX-License-Identifier: MIT */
/*
 * Samples by the buffer instead of one by one: what Python would do in a loop for each socket.
 */
#ifndef RIPTIDE_PYTHON_ROWS_H
#define RIPTIDE_PYTHON_ROWS_H

#include <riptide/observe.h>

/* One connection. Each figure is a column with a stride of one row. */
struct riptide_row {
    struct riptide_sample sample;
    uint64_t dst_high; /* the peer's address as two numbers; */
    uint64_t dst_low;  /* of IPv4, the number of its 32 bits alone */
};

/* Rows that grow. All zero is empty. */
struct riptide_rows {
    struct riptide_row *rows;
    size_t n;
    size_t capacity;
};

/*
 * Pops all that the observer has. Returns the outcome that ended it, RIPTIDE_E_AGAIN, _DONE or
 * -ENOMEM.
 */
int riptide_rows_pop(struct riptide_rows *rows, struct riptide_observer *observer);

/* Gives the memory back. */
void riptide_rows_clear(struct riptide_rows *rows);

#endif
