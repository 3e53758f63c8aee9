/* SPDX-License-Identifier: MIT */
/*
 * The kernel's handling of an inet_diag filter, reimplemented: its audit and its run, for the
 * operations that we use. No other operation passes the audit here.
 */
#ifndef RIPTIDE_TESTS_BYTE_CODE_RUN_H
#define RIPTIDE_TESTS_BYTE_CODE_RUN_H

#include <linux/inet_diag.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

/* A socket as the kernel sees it: an IPv4-mapped peer of an IPv6 socket is AF_INET6. */
struct diag_socket {
    uint8_t family;
    uint8_t dst[16];
    uint16_t local_port;
    uint16_t remote_port;
};

static inline struct inet_diag_bc_op op_at(const unsigned char *code, size_t at)
{
    struct inet_diag_bc_op op;

    memcpy(&op, code + at, sizeof(op));
    return op;
}

/* Bytes that the operation at `at` needs at least; 0: an unknown one. */
static inline size_t op_bytes(const unsigned char *code, size_t n, size_t at)
{
    struct inet_diag_hostcond condition;
    size_t bytes = 0, address_bytes;

    if (at + sizeof(struct inet_diag_bc_op) > n)
        return 0;
    switch (op_at(code, at).code) {
    case INET_DIAG_BC_JMP:
        bytes = 4;
        break;
    case INET_DIAG_BC_S_GE:
    case INET_DIAG_BC_D_GE:
        bytes = 8;
        break;
    case INET_DIAG_BC_D_COND:
        if (at + 4 + sizeof(condition) > n)
            return 0;
        memcpy(&condition, code + at + 4, sizeof(condition));
        address_bytes = condition.family == AF_INET ? 4 : condition.family == AF_INET6 ? 16 : 0;
        if (condition.family != AF_UNSPEC && address_bytes == 0)
            return 0;
        if (condition.prefix_len > 8 * address_bytes)
            return 0;
        bytes = 4 + sizeof(condition) + address_bytes;
        break;
    }
    return at + bytes <= n ? bytes : 0;
}

/*
 * Whether the kernel takes it. A `no` must lead to where going from operation to operation by `yes`
 * comes by; the kernel walks there from the start each time, which is the square in its cost.
 */
static inline bool byte_code_audit(const unsigned char *code, size_t n)
{
    static bool is_target[UINT16_MAX + 8];
    size_t at = 0;

    if (n < 4 || n > UINT16_MAX)
        return false;
    memset(is_target, 0, n + 8);
    while (at < n) {
        struct inet_diag_bc_op op = op_at(code, at);
        size_t bytes = op_bytes(code, n, at), left = n - at;

        /* Jumps go forward, so whatever leads here was seen before. */
        is_target[at] = false;
        if (bytes == 0 || op.no < bytes || op.no > left + 4 || op.no % 4)
            return false;
        if (op.yes < bytes || op.yes > left + 4 || op.yes % 4)
            return false;
        if (op.no < left)
            is_target[at + op.no] = true;
        at += op.yes;
    }
    return at == n && !memchr(is_target, true, n);
}

static inline bool has_bits(const uint8_t *address, const uint8_t *bits, unsigned int len)
{
    for (unsigned int i = 0; i < len; i++) {
        if ((address[i / 8] ^ bits[i / 8]) >> (7 - i % 8) & 1)
            return false;
    }
    return true;
}

static inline bool is_mapped(const struct diag_socket *socket)
{
    static const uint8_t head[12] = { [10] = 0xff, [11] = 0xff };

    return socket->family == AF_INET6 && memcmp(socket->dst, head, sizeof(head)) == 0;
}

static inline bool passes_condition(const unsigned char *payload, const struct diag_socket *socket)
{
    const uint8_t *bits = payload + sizeof(struct inet_diag_hostcond);
    struct inet_diag_hostcond condition;

    memcpy(&condition, payload, sizeof(condition));
    if (condition.port != -1 && condition.port != socket->remote_port)
        return false;
    if (condition.family == AF_INET && is_mapped(socket))
        return has_bits(socket->dst + 12, bits, condition.prefix_len);
    if (condition.family != AF_UNSPEC && condition.family != socket->family)
        return false;
    return has_bits(socket->dst, bits, condition.prefix_len);
}

static inline bool passes(const unsigned char *code, size_t at, const struct diag_socket *socket)
{
    switch (op_at(code, at).code) {
    case INET_DIAG_BC_S_GE:
        return socket->local_port >= op_at(code, at + 4).no;
    case INET_DIAG_BC_D_GE:
        return socket->remote_port >= op_at(code, at + 4).no;
    default:
        return passes_condition(code + at + 4, socket);
    }
}

/* The kernel's verdict, given that the audit passed. No code is no filter. */
static inline bool byte_code_run(const unsigned char *code, size_t n,
                                 const struct diag_socket *socket)
{
    size_t at = 0;

    while (at < n) {
        struct inet_diag_bc_op op = op_at(code, at);
        bool yes = op.code != INET_DIAG_BC_JMP && passes(code, at, socket);

        at += yes ? op.yes : op.no;
    }
    return at == n;
}

#endif
