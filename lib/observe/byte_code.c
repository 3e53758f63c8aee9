/* SPDX-License-Identifier: MIT */
/*
 * Operations of inet_diag byte code. The kernel's audit walks from one operation to the next by
 * `yes`, and takes a `no` only where it leads to one of those or to the end: hence `yes` is always
 * the length of the operation, and all choice lies in `no`.
 */
#include "observe/byte_code.h"

#include "prefix.h"

#include <linux/inet_diag.h>
#include <string.h>

static int push(struct byte_code *code, uint8_t opcode, const void *payload, size_t n,
                int otherwise)
{
    int op_bytes = (int)(sizeof(struct inet_diag_bc_op) + n);
    struct inet_diag_bc_op op = { .code = opcode, .yes = (uint8_t)op_bytes };

    if (code->is_full || code->n_bytes + op_bytes > code->max_bytes) {
        code->is_full = true;
        return code->n_bytes;
    }
    code->n_bytes += op_bytes;
    op.no = (uint16_t)(code->n_bytes - otherwise);
    memcpy(code->end - code->n_bytes, &op, sizeof(op));
    if (n > 0)
        memcpy(code->end - code->n_bytes + sizeof(op), payload, n);
    return code->n_bytes;
}

void byte_code_lead_to(struct byte_code *code, int place)
{
    if (code->n_bytes != place)
        push(code, INET_DIAG_BC_JMP, NULL, 0, place);
}

/* On IPv6 sockets the kernel holds IPv4 prefixes against IPv4-mapped peers. */
int byte_code_test_prefix(struct byte_code *code, const struct riptide_prefix *dst, int otherwise)
{
    struct inet_diag_hostcond condition;
    unsigned char payload[sizeof(condition) + sizeof(dst->addr)];

    /* Padding too: all of it goes to the kernel. */
    memset(&condition, 0, sizeof(condition));
    condition.family = dst->family;
    condition.prefix_len = dst->len;
    condition.port = -1;
    memcpy(payload, &condition, sizeof(condition));
    memcpy(payload + sizeof(condition), dst->addr, sizeof(dst->addr));
    return push(code, INET_DIAG_BC_D_COND, payload,
                sizeof(condition) + prefix_family_bits(dst->family) / 8, otherwise);
}

/* The operand is a second operation of which only `no` counts. */
int byte_code_test_port(struct byte_code *code, enum byte_code_side side, uint16_t min,
                        int otherwise)
{
    struct inet_diag_bc_op operand = { .no = min };

    return push(code, side == SIDE_LOCAL ? INET_DIAG_BC_S_GE : INET_DIAG_BC_D_GE, &operand,
                sizeof(operand), otherwise);
}

int byte_code_test_mark(struct byte_code *code, uint32_t mark, uint32_t mask, int otherwise)
{
    struct inet_diag_markcond condition = { .mark = mark, .mask = mask };

    return push(code, INET_DIAG_BC_MARK_COND, &condition, sizeof(condition), otherwise);
}

int byte_code_test_interface(struct byte_code *code, uint32_t ifindex, int otherwise)
{
    return push(code, INET_DIAG_BC_DEV_COND, &ifindex, sizeof(ifindex), otherwise);
}
