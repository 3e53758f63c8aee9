/* SPDX-License-Identifier: MIT */
/*
 * The kinds of number that options hold, one table row each, and their parser. Pure.
 */
#include "quantity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "path.h"

const struct wan_quantity wan_duration = {
    { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } },
    0,
    60e9,
    "a time up to 60s, such as 300us, 10ms or 1.5s",
};
const struct wan_quantity wan_rate = {
    { { "bit", 1 }, { "kbit", 1e3 }, { "mbit", 1e6 }, { "gbit", 1e9 } },
    1,
    1e11,
    "bits per second up to 100gbit, such as 500kbit, 20mbit or 1.5gbit",
};
const struct wan_quantity wan_size = {
    { { "b", 1 }, { "kb", 1e3 }, { "kib", 1024 }, { "mb", 1e6 }, { "mib", 1048576 } },
    1,
    1073741824,
    "bytes up to 1024mib, such as 1500b, 64kb (64000) or 64kib (65536)",
};
const struct wan_quantity wan_share = {
    { { "", (double)WAN_LOSS_ALWAYS }, { "%", (double)WAN_LOSS_ALWAYS / 100 } },
    0,
    (double)WAN_LOSS_ALWAYS,
    "a share from 0 to 1 or 0% to 100%, such as 0.001 or 0.1%",
};
const struct wan_quantity wan_seed = { { { "", 1 } }, 0, 9e15, "a whole number" };
const struct wan_quantity wan_mtu = { { { "", 1 } }, 68, 65535, "bytes from 68 to 65535" };
const struct wan_quantity wan_yes_no = {
    { { "", 1 } },
    0,
    1,
    "1 (jitter may reorder) or 0 (never)",
};

int wan_quantity_parse(const struct wan_quantity *quantity, const char *text, uint64_t *valuep)
{
    const struct wan_unit *unit = quantity->units;
    /* strtod alone would let through signs, blanks, hexadecimal, infinity and nan. */
    size_t digits = strspn(text, "0123456789.");
    char *end;
    double value;

    while (unit->name && strcmp(unit->name, text + digits))
        unit++;
    if (!digits || !unit->name)
        return -EINVAL;
    value = strtod(text, &end) * unit->scale;
    if (end != text + digits || !(value >= quantity->min && value <= quantity->max))
        return -EINVAL;
    /* Half a byte, or half a seed, is a mistake. */
    if (unit->scale <= 1 && value > (double)(uint64_t)value)
        return -EINVAL;
    *valuep = (uint64_t)(value + 0.5);
    return 0;
}
