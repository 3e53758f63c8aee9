/* SPDX-License-Identifier: MIT */
/*
 * Sets of prefixes and of ports become binary decisions, not chains: a socket passes as many tests
 * as the set has bits of choice. Written from the last test to the first; what each part leads to
 * is therefore an argument.
 */
#include "observe/filter.h"

#include "observe/scope.h"
#include "prefix.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

/* Adjacent parts of the space of ports, in order; each begins at its `first`, and ends with the
 * next. */
struct span {
    uint32_t first;
    int place; /* where its sockets go on */
};

enum {
    /*
     * For slices the ports of a side are cut into that many intervals of that many ports, which
     * take turns. A prime number of them, because ports are often handed out in blocks of a power
     * of two, or only even ones.
     */
    INTERVAL_PORTS = 257,
    N_INTERVALS = 256, /* the last one is a single port */
    MAX_SPANS = 2 * RIPTIDE_SCOPE_MAX_PORT_RANGES + 1,
    MAX_LEN = 128,
    MAPPED_BITS = 96, /* before the address, in an IPv4-mapped one */
};

_Static_assert(MAX_SPANS >= N_INTERVALS, "spans of a slice");

static void append_span(struct span *spans, size_t *np, uint32_t first, int place)
{
    if (*np == 0 || spans[*np - 1].place != place)
        spans[(*np)++] = (struct span){ first, place };
}

static int put_spans(struct byte_code *code, enum byte_code_side side, const struct span *spans,
                     size_t n)
{
    size_t middle = n / 2;
    int low, high;

    if (n == 1 || code->is_full)
        return spans[0].place;
    low = put_spans(code, side, spans, middle);
    high = put_spans(code, side, spans + middle, n - middle);
    byte_code_lead_to(code, high);
    return byte_code_test_port(code, side, (uint16_t)spans[middle].first, low);
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;

    return first < second ? -1 : first > second;
}

/* Sockets whose port is in a range go on at `inside`; no ranges are all ports. */
static int put_ports(struct byte_code *code, enum byte_code_side side,
                     const struct riptide_port_range *ranges, size_t n, int inside)
{
    uint32_t starts[MAX_SPANS] = { 0 };
    struct span spans[MAX_SPANS];
    size_t n_starts = 1, n_spans = 0;

    if (n == 0)
        return inside;
    for (size_t i = 0; i < n; i++) {
        starts[n_starts++] = ranges[i].first;
        if (ranges[i].last < UINT16_MAX)
            starts[n_starts++] = (uint32_t)ranges[i].last + 1;
    }
    qsort(starts, n_starts, sizeof(starts[0]), compare_u32);
    for (size_t i = 0; i < n_starts; i++)
        append_span(spans, &n_spans, starts[i],
                    scope_has_port(ranges, n, starts[i]) ? inside : PLACE_REJECT);
    return put_spans(code, side, spans, n_spans);
}

/*
 * A socket is in the slice whose number is the sum of its two intervals, modulo the number of
 * slices: with one port the same for all, as on a server or for a client of one, the other alone
 * spreads them. The remote port is asked about last, once for each remainder of the local one.
 */
static int put_slice(struct byte_code *code, uint32_t slice, uint32_t slices, int inside)
{
    int remote[RIPTIDE_MAX_SLICES];
    struct span spans[MAX_SPANS];
    size_t n;

    if (slices <= 1)
        return inside;
    for (uint32_t remainder = 0; remainder < slices; remainder++) {
        n = 0;
        for (uint32_t i = 0; i < N_INTERVALS; i++)
            append_span(spans, &n, i * INTERVAL_PORTS,
                        (remainder + i) % slices == slice ? inside : PLACE_REJECT);
        remote[remainder] = put_spans(code, SIDE_REMOTE, spans, n);
    }
    n = 0;
    for (uint32_t i = 0; i < N_INTERVALS; i++)
        append_span(spans, &n, i * INTERVAL_PORTS, remote[i % slices]);
    return put_spans(code, SIDE_LOCAL, spans, n);
}

static int place_of(bool verdict)
{
    return verdict ? PLACE_ACCEPT : PLACE_REJECT;
}

static int bits_of(const struct riptide_prefix *prefix)
{
    return prefix->family == AF_INET ? MAPPED_BITS + prefix->len : prefix->len;
}

/*
 * What lies in the node goes where its verdict says, anything else to `outside`. Where `is_inside`,
 * that it lies in the node's prefix is known. A subtree whose prefix is too long is accepted whole.
 */
static int put_node(struct byte_code *code, const struct scope_tree *tree, uint32_t index,
                    int outside, bool is_inside, int max_len)
{
    const struct scope_node *node, *first;
    bool is_told;
    int place;

    if (index == SCOPE_TREE_NONE || code->is_full)
        return outside;
    node = &tree->nodes[index];
    is_told = bits_of(&node->prefix) <= max_len;
    if (node->is_branch && is_told) {
        int second = put_node(code, tree, node->children[1], outside, false, max_len);

        first = &tree->nodes[node->children[0]];
        byte_code_lead_to(code, put_node(code, tree, node->children[0], outside, true, max_len));
        return byte_code_test_prefix(code, &first->prefix, second);
    }
    if (node->children[0] != SCOPE_TREE_NONE && !is_told)
        place = PLACE_ACCEPT;
    else
        place = put_node(code, tree, node->children[0], place_of(node->verdict), false, max_len);
    if (is_inside || place == outside)
        return place;
    byte_code_lead_to(code, place);
    return byte_code_test_prefix(code, &node->prefix, outside);
}

/* To the kernel 0.0.0.0/0 holds IPv4-mapped peers, too, which IPv6 prefixes must not judge. */
static int put_prefixes(struct byte_code *code, const struct scope_tree *tree, int max_len)
{
    const struct riptide_prefix any4 = { .family = AF_INET };
    int outside = place_of(tree->verdict), v4, v6;

    v6 = put_node(code, tree, tree->roots[1], outside, false, max_len);
    v4 = put_node(code, tree, tree->roots[0], outside, false, max_len);
    /* What IPv4 prefixes do not hold goes outside, whatever its family. */
    if (v6 == outside || v6 == v4)
        return v4;
    byte_code_lead_to(code, v4);
    return byte_code_test_prefix(code, &any4, v6);
}

uint32_t filter_slice_of(const struct riptide_sample *sample, uint32_t slices)
{
    return (sample->local_port / INTERVAL_PORTS + sample->remote_port / INTERVAL_PORTS) % slices;
}

/* The cheapest tests come first, that is, are written last. */
static void compile(struct filter *filter, int max_bytes, uint32_t slice, uint32_t slices)
{
    const struct riptide_scope *scope = filter->scope;
    struct byte_code *code = &filter->code;
    int place;

    *code =
        (struct byte_code){ .end = filter->buffer + BYTE_CODE_MAX_BYTES, .max_bytes = max_bytes };
    place = put_prefixes(code, &filter->tree, filter->max_len);
    place = put_ports(code, SIDE_REMOTE, scope->remote_ports, scope->n_remote_ports, place);
    place = put_ports(code, SIDE_LOCAL, scope->local_ports, scope->n_local_ports, place);
    place = put_slice(code, slice, slices, place);
    if (scope->mark_mask != 0) {
        byte_code_lead_to(code, place);
        place = byte_code_test_mark(code, scope->mark, scope->mark_mask, PLACE_REJECT);
    }
    if (scope->ifindex != 0) {
        byte_code_lead_to(code, place);
        place = byte_code_test_interface(code, scope->ifindex, PLACE_REJECT);
    }
    byte_code_lead_to(code, place);
}

/*
 * How much of a node's prefix the code lets through. Recursion ends with the bits of an address.
 */
static double share_of(const struct filter *filter, uint32_t index)
{
    const struct scope_node *node = &filter->tree.nodes[index];
    int n_children = node->is_branch ? 2 : 1;
    double share = node->verdict;

    if (bits_of(&node->prefix) > filter->max_len)
        return 1;
    for (int i = 0; i < n_children && node->children[i] != SCOPE_TREE_NONE; i++) {
        const struct scope_node *child = &filter->tree.nodes[node->children[i]];
        int bits = child->prefix.len - node->prefix.len;
        double part = bits < 64 ? 1.0 / (double)(UINT64_C(1) << bits) : 0;

        share += part * (share_of(filter, node->children[i]) - node->verdict);
    }
    return share;
}

/* Whether the wider prefixes tell apart anything within what the scope spans. */
static bool pays(const struct filter *filter)
{
    for (int i = 0; i < 2; i++) {
        uint32_t root = filter->tree.roots[i];

        if (root != SCOPE_TREE_NONE && share_of(filter, root) <= 0.5)
            return true;
    }
    return false;
}

static enum riptide_filter kind_of(const struct filter *filter)
{
    if (filter->max_len < MAX_LEN)
        return RIPTIDE_FILTER_PARTIAL;
    return filter->code.n_bytes > 0 ? RIPTIDE_FILTER_WHOLE : RIPTIDE_FILTER_NONE;
}

int filter_init(struct filter *filter, const struct riptide_scope *scope)
{
    int r = scope_tree_init(&filter->tree, scope);

    filter->scope = scope;
    if (r < 0)
        return r;
    filter->buffer = malloc(BYTE_CODE_MAX_BYTES);
    if (!filter->buffer)
        return -ENOMEM;
    /* As many bits of the prefixes as fit; where those tell little, what they span alone. */
    filter->max_len = MAX_LEN;
    compile(filter, FILTER_MAX_SCOPE_BYTES, 0, 1);
    while (filter->code.is_full) {
        filter->max_len--;
        compile(filter, FILTER_MAX_SCOPE_BYTES, 0, 1);
    }
    if (filter->max_len < MAX_LEN && !pays(filter)) {
        filter->max_len = 0;
        compile(filter, FILTER_MAX_SCOPE_BYTES, 0, 1);
    }
    filter->kind = kind_of(filter);
    return 0;
}

void filter_deinit(struct filter *filter)
{
    scope_tree_deinit(&filter->tree);
    free(filter->buffer);
}

void filter_take_slice(struct filter *filter, uint32_t slice, uint32_t slices)
{
    compile(filter, BYTE_CODE_MAX_BYTES, slice, slices);
}

const void *filter_get(const struct filter *filter, size_t *n_bytesp)
{
    *n_bytesp = (size_t)filter->code.n_bytes;
    return filter->code.end - filter->code.n_bytes;
}

bool filter_matches(const struct filter *filter, const struct riptide_sample *sample)
{
    return scope_admits(filter->scope, sample) && scope_tree_matches(&filter->tree, &sample->dst);
}
