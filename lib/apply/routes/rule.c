/* SPDX-License-Identifier: MIT */
/* Parses rule messages, and finds the place of ours, which affect only this host's TCP. */
#include "rule.h"

#include "internal.h"
#include "netlink.h"
#include "prefix.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

/* Conditions of a rule besides its mark; and modifiers. */
enum { OF_TCP = 1, OF_THIS_HOST = 2, OF_OTHERS = 4 };

static bool read_u8(const struct nlattr *attribute, uint8_t *value)
{
    if (mnl_attr_get_payload_len(attribute) < 1)
        return false;
    *value = mnl_attr_get_u8(attribute);
    return true;
}

static bool is_loopback(const struct nlattr *name)
{
    return mnl_attr_get_payload_len(name) == sizeof("lo") &&
           memcmp(mnl_attr_get_payload(name), "lo", sizeof("lo")) == 0;
}

static bool parse_attribute(struct rule *rule, uint32_t *conditions,
                            const struct nlattr *attribute)
{
    uint32_t value = 0;
    uint8_t ip_protocol;

    switch (mnl_attr_get_type(attribute)) {
    case FRA_TABLE:
        return netlink_u32(attribute, &rule->table);
    case FRA_PRIORITY:
        return netlink_u32(attribute, &rule->priority);
    case FRA_GOTO:
        return netlink_u32(attribute, &rule->target);
    case FRA_FWMARK:
        return netlink_u32(attribute, &rule->mark);
    case FRA_FWMASK:
        return netlink_u32(attribute, &rule->mask);
    case FRA_PROTOCOL:
        return read_u8(attribute, &rule->protocol);
    case FRA_IP_PROTO:
        if (!read_u8(attribute, &ip_protocol))
            return false;
        *conditions |= ip_protocol == IPPROTO_TCP ? OF_TCP : OF_OTHERS;
        return true;
    case FRA_IIFNAME:
        *conditions |= is_loopback(attribute) ? OF_THIS_HOST : OF_OTHERS;
        return true;
    case FRA_SUPPRESS_PREFIXLEN:
        if (!netlink_u32(attribute, &value))
            return false;
        rule->suppress_prefixlength = (int32_t)value;
        return true;
    case FRA_SUPPRESS_IFGROUP:
        if (!netlink_u32(attribute, &value))
            return false;
        /* The kernel shows an unset one as -1. */
        *conditions |= value != UINT32_MAX ? OF_OTHERS : 0;
        return true;
    case FRA_PAD:
        return true;
    default:
        *conditions |= OF_OTHERS;
        return true;
    }
}

static bool has_our_shape(const struct rule *rule, uint32_t conditions)
{
    return rule->protocol == OUR_PROTOCOL && conditions == (OF_TCP | OF_THIS_HOST) &&
           !rule->mark && !rule->mask &&
           rule->suppress_prefixlength == prefix_family_bits(rule->family) - 1 && rule->table &&
           (rule->table < RT_TABLE_DEFAULT || rule->table > RT_TABLE_LOCAL);
}

int rule_parse(struct rule *rule, const struct nlmsghdr *message)
{
    const struct fib_rule_hdr *header;
    struct netlink_attrs attrs;
    const struct nlattr *attribute;
    uint32_t conditions = 0;

    if (message->nlmsg_type != RTM_NEWRULE || !netlink_has_header(message, sizeof(*header)))
        return -EBADMSG;
    header = mnl_nlmsg_get_payload(message);
    *rule = (struct rule){ .family = header->family,
                           .table = header->table,
                           .is_inverted = header->flags & FIB_RULE_INVERT,
                           .suppress_prefixlength = -1 };
    if (header->dst_len || header->src_len || header->tos || rule->is_inverted)
        conditions = OF_OTHERS;
    attrs = netlink_attrs(message, sizeof(*header));
    while ((attribute = netlink_next(&attrs))) {
        if (!parse_attribute(rule, &conditions, attribute))
            return -EBADMSG;
    }
    if (attrs.left != 0)
        return -EBADMSG;
    if (header->action != FR_ACT_TO_TBL)
        rule->table = 0;
    rule->is_unconditional = conditions == 0 && !rule->mark && !rule->mask &&
                             rule->suppress_prefixlength < 0;
    rule->is_ours = has_our_shape(rule, conditions);
    return 0;
}

int rules_add(struct rules *rules, const struct nlmsghdr *message)
{
    struct rule rule;
    int r = rule_parse(&rule, message);

    return r < 0 ? r : array_append(&rules->list, &rules->n, &rules->capacity, &rule, sizeof(rule));
}

void rules_deinit(struct rules *rules)
{
    free(rules->list);
    *rules = (struct rules){ 0 };
}

bool rules_are_unconditional(const struct rules *rules)
{
    for (uint32_t i = 0; i < rules->n; i++) {
        if (!rules->list[i].is_ours && !rules->list[i].is_unconditional)
            return false;
    }
    return true;
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

const char *rules_place(const struct rules *rules, uint32_t *priority)
{
    const struct rule *main_rule = find_main(rules);

    if (!main_rule || main_rule->priority < 2)
        return "there is no unconditional rule `lookup main` that ours could precede";
    *priority = main_rule->priority - 1;
    if (is_led_to(rules, *priority))
        return "a goto of another rule leads to the priority before `lookup main`";
    /* The kernel puts a new rule after those of the same priority. */
    for (const struct rule *rule = rules->list; rule < main_rule; rule++) {
        if (!rule->is_ours && rule->priority > *priority)
            return "another rule has the priority of `lookup main`, and comes before it";
    }
    return NULL;
}

bool rules_has_ours_in_place(const struct rules *rules, uint32_t table)
{
    const struct rule *main_rule = find_main(rules);
    uint32_t n_ours = 0;

    for (uint32_t i = 0; i < rules->n; i++)
        n_ours += rules->list[i].is_ours;
    return n_ours == 1 && main_rule && main_rule > rules->list && main_rule[-1].is_ours &&
           main_rule[-1].table == table && !is_led_to(rules, main_rule[-1].priority);
}
