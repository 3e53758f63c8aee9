/* SPDX-License-Identifier: MIT */
/*
 * Any text as a prefix: an accepted one prints as text that reads back as the same, with the
 * address of inet_pton.
 */
#include "prefix.h"

#include "case_bytes.h"
#include "target.h"
#include "tools.h"

#include <arpa/inet.h>
#include <string.h>

static void check_address(const struct riptide_prefix *prefix, char *text)
{
    uint8_t address[16] = { 0 };
    bool is_v6 = strchr(text, ':') != NULL;
    int offset = is_v6 && prefix->family == AF_INET ? 12 : 0; /* IPv4-mapped */

    text[strcspn(text, "/")] = 0;
    CASE_CHECK(inet_pton(is_v6 ? AF_INET6 : AF_INET, text, address) == 1);
    CASE_CHECK(memcmp(address + offset, prefix->addr, prefix_family_bits(prefix->family) / 8) == 0);
}

/* The usual form: an IPv4 address, a slash, a length and no bit after it. */
static bool is_plain(const char *text)
{
    unsigned int bytes[4], len;
    char again[32];
    uint32_t address = 0;

    if (sscanf(text, "%3u.%3u.%3u.%3u/%2u", &bytes[0], &bytes[1], &bytes[2], &bytes[3], &len) != 5)
        return false;
    snprintf(again, sizeof(again), "%u.%u.%u.%u/%u", bytes[0], bytes[1], bytes[2], bytes[3], len);
    for (int i = 0; i < 4; i++) {
        if (bytes[i] > 255)
            return false;
        address = address << 8 | bytes[i];
    }
    return !strcmp(text, again) && len <= 32 && (len == 32 || address << len == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct riptide_prefix prefix = { .family = 99 }, again, whole;
    char *text = calloc(1, n + 1), shown[RIPTIDE_PREFIX_TEXT_BYTES];
    int r;

    CASE_CHECK(text);
    memcpy(text, data, n);
    r = riptide_prefix_parse(&prefix, text);
    CASE_CHECK(r == 0 || (prefix.family == 99 && !is_plain(text)));
    if (r == 0) {
        CASE_CHECK(prefix_is_valid(&prefix));
        riptide_prefix_format(&prefix, shown);
        CASE_CHECK(riptide_prefix_parse(&again, shown) == 0);
        CASE_CHECK(riptide_prefix_equal(&prefix, &again) && riptide_prefix_equal(&prefix, &again));
        prefix_from_address(&whole, prefix.family, prefix.addr);
        CASE_CHECK(riptide_prefix_contains(&prefix, &whole));
        check_address(&prefix, text);
    }
    free(text);
    return 0;
}
