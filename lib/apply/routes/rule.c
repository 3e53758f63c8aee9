/* SPDX-License-Identifier: MIT */
/* Messages about rules, and the place of ours among the host's. */
#include "apply/routes/rule.h"

#include "internal.h"
#include "prefix.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

/* What a rule says beside its numbers; of ours all but the last. */
enum { BY_US = 1, OF_TCP = 2, OF_THIS_HOST = 4, TO_HOSTS = 8, OURS = 15, OF_OTHERS = 16 };

static const uint8_t by_us = OUR_PROTOCOL, tcp = IPPROTO_TCP;
static const char loopback[] = "lo";

static bool is_equal(const struct nlattr *attribute, const void *value, size_t n_bytes)
{
    return mnl_attr_get_payload_len(attribute) == n_bytes &&
           memcmp(mnl_attr_get_payload(attribute), value, n_bytes) == 0;
}

static bool parse_attribute(struct rule *rule, uint32_t *says, const struct nlattr *attribute)
{
    uint32_t value = 0;

    switch (mnl_attr_get_type(attribute)) {
    case FRA_TABLE:
        return netlink_u32(attribute, &rule->table);
    case FRA_PRIORITY:
        return netlink_u32(attribute, &rule->priority);
    case FRA_GOTO:
        return netlink_u32(attribute, &rule->target);
    case FRA_PROTOCOL:
        *says |= is_equal(attribute, &by_us, sizeof(by_us)) ? BY_US : 0;
        return true;
    case FRA_IP_PROTO:
        *says |= is_equal(attribute, &tcp, sizeof(tcp)) ? OF_TCP : OF_OTHERS;
        return true;
    case FRA_IIFNAME:
        *says |= is_equal(attribute, loopback, sizeof(loopback)) ? OF_THIS_HOST : OF_OTHERS;
        return true;
    case FRA_SUPPRESS_PREFIXLEN:
        if (!netlink_u32(attribute, &value))
            return false;
        /* The kernel shows an unset one as -1. */
        if (value == prefix_family_bits(rule->family) - 1u)
            *says |= TO_HOSTS;
        else if (value != UINT32_MAX)
            *says |= OF_OTHERS;
        return true;
    case FRA_PAD:
        return true;
    default:
        *says |= OF_OTHERS;
        return true;
    }
}

int rule_parse(struct rule *rule, const struct nlmsghdr *message)
{
    const struct fib_rule_hdr *header;
    struct netlink_walk attrs;
    const struct nlattr *attribute;
    uint32_t says = 0;

    if (message->nlmsg_type != RTM_NEWRULE || !netlink_has_header(message, sizeof(*header)))
        return -EBADMSG;
    header = mnl_nlmsg_get_payload(message);
    *rule = (struct rule){ .family = header->family, .table = header->table };
    if (header->dst_len || header->src_len || header->tos || header->flags & FIB_RULE_INVERT)
        says = OF_OTHERS;
    attrs = netlink_attrs(message, sizeof(*header));
    while ((attribute = netlink_next(&attrs))) {
        if (!parse_attribute(rule, &says, attribute))
            return -EBADMSG;
    }
    if (attrs.left != 0)
        return -EBADMSG;
    if (header->action != FR_ACT_TO_TBL)
        rule->table = 0;
    rule->is_unconditional = (says & ~(uint32_t)BY_US) == 0;
    rule->is_ours = says == OURS && rule->table &&
                    (rule->table < RT_TABLE_DEFAULT || rule->table > RT_TABLE_LOCAL);
    return 0;
}

struct nlmsghdr *message_rule(void *room, uint16_t type, const struct rule *rule)
{
    const struct fib_rule_hdr header = { .family = rule->family, .action = FR_ACT_TO_TBL };
    uint16_t flags = type == RTM_NEWRULE ? NLM_F_CREATE | NLM_F_EXCL : 0;
    struct nlmsghdr *request = netlink_begin(room, type, flags, &header, sizeof(header));

    mnl_attr_put_u32(request, FRA_PRIORITY, rule->priority);
    mnl_attr_put_u32(request, FRA_TABLE, rule->table);
    mnl_attr_put_u8(request, FRA_PROTOCOL, OUR_PROTOCOL);
    mnl_attr_put_strz(request, FRA_IIFNAME, loopback);
    mnl_attr_put_u8(request, FRA_IP_PROTO, IPPROTO_TCP);
    mnl_attr_put_u32(request, FRA_SUPPRESS_PREFIXLEN, prefix_family_bits(rule->family) - 1u);
    return request;
}

int rules_add(struct rules *rules, const struct nlmsghdr *message)
{
    struct rule rule;
    int r = rule_parse(&rule, message);

    if (r < 0)
        return r;
    rules->n_ours += rule.is_ours;
    rules->has_conditional |= !rule.is_ours && !rule.is_unconditional;
    return array_append(&rules->list, &rules->n, &rule, sizeof(rule));
}

void rules_deinit(struct rules *rules)
{
    free(rules->list);
    *rules = (struct rules){ 0 };
}

static const struct rule *find_main(const struct rules *rules)
{
    for (uint32_t i = 0; i < rules->n; i++) {
        if (rules->list[i].is_unconditional && rules->list[i].table == RT_TABLE_MAIN)
            return &rules->list[i];
    }
    return NULL;
}

/* The kernel skips a goto to a priority without a rule; ours would become its target. */
static bool is_led_to(const struct rules *rules, uint32_t priority)
{
    for (uint32_t i = 0; i < rules->n; i++) {
        if (rules->list[i].target == priority)
            return true;
    }
    return false;
}

enum riptide_reason rules_place(const struct rules *rules, uint32_t *priority)
{
    const struct rule *main_rule = find_main(rules);

    if (main_rule && main_rule->priority < 2)
        return RIPTIDE_REASON_NO_PRIORITY;
    if (!main_rule)
        return RIPTIDE_REASON_NO_RULE_OF_MAIN;
    *priority = main_rule->priority - 1;
    if (is_led_to(rules, *priority))
        return RIPTIDE_REASON_GOTO;
    /* The kernel puts a new rule after those of the same priority. */
    for (const struct rule *rule = rules->list; rule < main_rule; rule++) {
        if (!rule->is_ours && rule->priority > *priority)
            return RIPTIDE_REASON_PRIORITY_IN_USE;
    }
    return RIPTIDE_REASON_NONE;
}

const struct rule *rules_find(const struct rules *rules, uint32_t table, bool is_ours)
{
    for (uint32_t i = 0; i < rules->n; i++) {
        if (rules->list[i].is_ours == is_ours && rules->list[i].table == table)
            return &rules->list[i];
    }
    return NULL;
}

bool rules_has_ours_in_place(const struct rules *rules, uint32_t table)
{
    const struct rule *main_rule = find_main(rules);

    return rules->n_ours == 1 && main_rule && main_rule > rules->list && main_rule[-1].is_ours &&
           main_rule[-1].table == table && !is_led_to(rules, main_rule[-1].priority);
}
