/* SPDX-License-Identifier: MIT */
/*
 * Any messages as policy rules: rules of ours that the kernel puts in the place found are in place,
 * and the meaning of each rule, above all whether it is ours, is that of its bytes.
 */
#include "apply/rule.h"

#include "apply/message.h"
#include "messages.h"
#include "target.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum { TABLE = 7230, PROTOCOL = 230, MARK = 0x72697074 };
enum { N_TYPES = 64 };

/* A message as the walk of <linux/rtnetlink.h> finds it. */
struct reading {
    const struct fib_rule_hdr *header;
    const struct rtattr *found[N_TYPES]; /* by type */
    bool is_whole;                       /* its end was reached, and numbers have their size */
    bool is_repeated; /* a type occurs twice: ambiguous, and never sent by the kernel */
    bool has_unknown; /* an attribute that may be any selector */
};

static bool has_its_size(const struct rtattr *attribute)
{
    switch (attribute->rta_type & NLA_TYPE_MASK) {
    case FRA_PRIORITY:
    case FRA_TABLE:
    case FRA_GOTO:
    case FRA_FWMARK:
    case FRA_FWMASK:
    case FRA_SUPPRESS_PREFIXLEN:
    case FRA_SUPPRESS_IFGROUP:
        return RTA_PAYLOAD(attribute) == sizeof(uint32_t);
    case FRA_PROTOCOL:
    case FRA_IP_PROTO:
        return RTA_PAYLOAD(attribute) >= sizeof(uint8_t);
    default:
        return true;
    }
}

static struct reading read_message(struct nlmsghdr *message)
{
    struct reading reading = { .header = NLMSG_DATA(message) };
    uint32_t left = message->nlmsg_len - (uint32_t)NLMSG_LENGTH(sizeof(*reading.header));
    const struct rtattr *at = (void *)(reading.header + 1);

    if (message->nlmsg_type != RTM_NEWRULE ||
        message->nlmsg_len < NLMSG_LENGTH(sizeof(*reading.header)))
        return reading;
    reading.is_whole = true;
    /* Without the padding of its last attribute a message is not whole. */
    for (; left <= INT32_MAX && RTA_OK(at, left); at = RTA_NEXT(at, left)) {
        int type = at->rta_type & NLA_TYPE_MASK;

        reading.is_whole &= has_its_size(at);
        if (type >= N_TYPES) {
            reading.has_unknown = true;
            continue;
        }
        reading.is_repeated |= reading.found[type] != NULL;
        reading.found[type] = at;
    }
    reading.is_whole &= left == 0;
    return reading;
}

/* 0: there is none. */
static uint32_t number_of(const struct reading *reading, int type)
{
    const struct rtattr *attribute = reading->found[type];
    uint32_t value = 0;

    if (attribute)
        memcpy(&value, RTA_DATA(attribute),
               type == FRA_PROTOCOL || type == FRA_IP_PROTO ? 1 : sizeof(value));
    return value;
}

static bool is_suppressing(const struct reading *reading, int type)
{
    return reading->found[type] && number_of(reading, type) != UINT32_MAX;
}

/* Whether it selects by mark, protocol and lo only, and nothing follows the action. */
static bool is_plain(const struct reading *reading)
{
    static const uint64_t known =
        1 << FRA_TABLE | 1 << FRA_PRIORITY | 1 << FRA_GOTO | 1 << FRA_PAD | 1 << FRA_PROTOCOL |
        1 << FRA_SUPPRESS_PREFIXLEN | 1 << FRA_SUPPRESS_IFGROUP | 1 << FRA_FWMARK |
        1 << FRA_FWMASK | 1 << FRA_IIFNAME | 1 << FRA_IP_PROTO;

    for (int type = 0; type < N_TYPES; type++) {
        if (reading->found[type] && !(known >> type & 1))
            return false;
    }
    return !reading->has_unknown && reading->header->dst_len == 0 &&
           reading->header->src_len == 0 && reading->header->tos == 0 &&
           !(reading->header->flags & FIB_RULE_INVERT) &&
           !is_suppressing(reading, FRA_SUPPRESS_PREFIXLEN) &&
           !is_suppressing(reading, FRA_SUPPRESS_IFGROUP);
}

static bool is_of_own_tcp(const struct reading *reading)
{
    const struct rtattr *name = reading->found[FRA_IIFNAME];

    return name && RTA_PAYLOAD(name) == sizeof("lo") && !memcmp(RTA_DATA(name), "lo", 3) &&
           reading->found[FRA_IP_PROTO] && number_of(reading, FRA_IP_PROTO) == IPPROTO_TCP;
}

static uint32_t table_of(const struct reading *reading)
{
    if (reading->header->action != FR_ACT_TO_TBL)
        return 0;
    return reading->found[FRA_TABLE] ? number_of(reading, FRA_TABLE) : reading->header->table;
}

/* Rules recognized as ours may be deleted: so they must have exactly our attributes. */
static enum rule_role role_of(const struct reading *reading, const struct rule_identity *identity)
{
    uint32_t mark = number_of(reading, FRA_FWMARK), mask = number_of(reading, FRA_FWMASK);

    if (!is_plain(reading) || !is_of_own_tcp(reading))
        return RULE_FOREIGN;
    if (identity->protocol != 0 && number_of(reading, FRA_PROTOCOL) != identity->protocol)
        return RULE_FOREIGN;
    if (mark == 0 && mask == 0)
        return table_of(reading) == identity->table ? RULE_LOOKUP : RULE_FOREIGN;
    if (mark == 0 || mask != UINT32_MAX || number_of(reading, FRA_GOTO) == 0)
        return RULE_FOREIGN;
    return identity->mark == 0 || mark == identity->mark ? RULE_SKIP : RULE_FOREIGN;
}

static void check_meaning(const struct rule *rule, const struct reading *reading,
                          const struct rule_identity *identity)
{
    CASE_CHECK(rule->priority == number_of(reading, FRA_PRIORITY));
    CASE_CHECK(rule->protocol == number_of(reading, FRA_PROTOCOL));
    CASE_CHECK(rule->mark == number_of(reading, FRA_FWMARK));
    CASE_CHECK(rule->target == number_of(reading, FRA_GOTO));
    CASE_CHECK(rule->table == table_of(reading));
    CASE_CHECK(rule->is_unconditional ==
               (is_plain(reading) && !reading->found[FRA_IIFNAME] &&
                !reading->found[FRA_IP_PROTO] && number_of(reading, FRA_FWMARK) == 0 &&
                number_of(reading, FRA_FWMASK) == 0));
    CASE_CHECK(rule->role == role_of(reading, identity));
}

static void check_same_body(const struct nlmsghdr *a, const struct nlmsghdr *b)
{
    size_t n_bytes = b->nlmsg_len - NLMSG_HDRLEN;

    CASE_CHECK(a->nlmsg_len == NLMSG_ALIGN(b->nlmsg_len));
    CASE_CHECK(memcmp(a + 1, b + 1, n_bytes) == 0);
}

/* Requests that name no rule of ours: deletion by table, and a dump of all. */
static void check_other_requests(const struct rule *rule)
{
    static struct netlink_room room;
    struct nlmsghdr *request = message_lookup_delete(&room, AF_INET6, rule->table);
    struct reading reading;

    CASE_CHECK(request->nlmsg_type == RTM_DELRULE);
    request->nlmsg_type = RTM_NEWRULE;
    reading = read_message(request);
    CASE_CHECK(reading.is_whole && number_of(&reading, FRA_TABLE) == rule->table);
    CASE_CHECK(message_dump(&room, RTM_GETRULE, AF_INET6, 0)->nlmsg_flags & NLM_F_DUMP);
}

/* Inserts a rule after those of the same priority, as the kernel does. */
static void insert(struct rules *rules, struct rule rule)
{
    uint32_t i = rules->n++;

    for (; i > 0 && rules->list[i - 1].priority > rule.priority; i--)
        rules->list[i] = rules->list[i - 1];
    rules->list[i] = rule;
}

static void add(struct rules *rules, const struct rule_identity *identity,
                struct nlmsghdr *message)
{
    struct reading reading = read_message(message);
    uint32_t before = rules->n;
    struct rule rule;

    if (rules_add(rules, identity, message) < 0) {
        CASE_CHECK(rules->n == before && !reading.is_whole);
        return;
    }
    CASE_CHECK(rules->n == before + 1 && reading.is_whole);
    rule = rules->list[--rules->n];
    if (!reading.is_repeated)
        check_meaning(&rule, &reading, identity);
    check_other_requests(&rule);
    insert(rules, rule);
}

/* The deleting message has the same attributes as the adding one. */
static void add_ours(struct rules *rules, const struct rule_identity *identity,
                     const struct rule_place *place, enum rule_role role)
{
    static struct netlink_room rooms[2];
    struct nlmsghdr *added = message_rule(&rooms[0], RTM_NEWRULE, AF_INET, place, role, identity);
    struct nlmsghdr *deleted = message_rule(&rooms[1], RTM_DELRULE, AF_INET, place, role, identity);

    CASE_CHECK(deleted->nlmsg_type == RTM_DELRULE);
    check_same_body(added, deleted);
    add(rules, identity, added);
}

static void check_place(struct rules *rules, const struct rule_identity *identity, uint32_t wanted)
{
    struct rule_place place;
    uint32_t n = 0;

    if (rules_place(rules, wanted, &place))
        return;
    CASE_CHECK(place.priority < place.main_priority);
    CASE_CHECK(wanted == 0 || place.priority == wanted);
    for (uint32_t i = 0; i < rules->n; i++) {
        if (rules->list[i].role == RULE_FOREIGN)
            rules->list[n++] = rules->list[i];
    }
    rules->n = n;
    CASE_CHECK(!rules_has_ours_in_place(rules));
    add_ours(rules, identity, &place, RULE_SKIP);
    CASE_CHECK(!rules_has_ours_in_place(rules));
    add_ours(rules, identity, &place, RULE_LOOKUP);
    CASE_CHECK(rules_has_ours_in_place(rules));
}

/* Room for ours and for one attribute of each kind besides. */
struct near_ours {
    struct nlmsghdr netlink;
    struct fib_rule_hdr header;
    uint8_t attributes[128];
};

static void put(struct near_ours *message, uint16_t type, const void *value, uint16_t n)
{
    struct rtattr attribute = { (uint16_t)RTA_LENGTH(n), type };
    uint8_t *at = (uint8_t *)message + message->netlink.nlmsg_len;

    memcpy(at, &attribute, sizeof(attribute));
    memcpy(at + sizeof(attribute), value, n);
    message->netlink.nlmsg_len += RTA_SPACE(n);
}

/* Two bits choose: no attribute, our value, 0, or another value. */
static void put_number(struct near_ours *message, unsigned int how, uint16_t type, uint32_t value,
                       uint16_t n)
{
    if (how & 2)
        value = how & 1 ? value ^ 1 : 0;
    if (how & 3)
        put(message, type, &value, n);
}

/* Two bits choose each attribute of our rule, and each one that it lacks. */
static void add_near_ours(struct rules *rules, const struct rule_identity *identity,
                          struct case_bytes *bytes)
{
    struct near_ours message = { .netlink = { .nlmsg_len = NLMSG_LENGTH(sizeof(message.header)),
                                              .nlmsg_type = RTM_NEWRULE } };
    uint32_t how = case_u32(bytes);

    message.header.action = how & 1 ? FR_ACT_TO_TBL : FR_ACT_GOTO;
    message.header.flags = how & 2 ? FIB_RULE_INVERT : 0;
    message.header.tos = how & 4 ? 16 : 0;
    message.header.src_len = how & 8 ? 8 : 0;
    message.header.dst_len = how & 16 ? 8 : 0;
    put_number(&message, how >> 5, FRA_PROTOCOL, PROTOCOL, 1);
    put_number(&message, how >> 7, FRA_IP_PROTO, IPPROTO_TCP, 1);
    put_number(&message, how >> 9, FRA_TABLE, TABLE, 4);
    put_number(&message, how >> 11, FRA_GOTO, 32766, 4);
    put_number(&message, how >> 13, FRA_FWMARK, MARK, 4);
    put_number(&message, how >> 15, FRA_FWMASK, UINT32_MAX, 4);
    put_number(&message, how >> 17, FRA_SUPPRESS_PREFIXLEN, UINT32_MAX, 4);
    put_number(&message, how >> 19, FRA_SUPPRESS_IFGROUP, UINT32_MAX, 4);
    if (how >> 21 & 3)
        put(&message, FRA_IIFNAME, how >> 21 & 2 ? "l0" : "lo", how >> 21 & 1 ? 3 : 2);
    if (how >> 23 & 1)
        put(&message, (uint16_t)(how >> 24), "", 1);
    add(rules, identity, &message.netlink);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct case_bytes bytes = { data, n };
    uint8_t how = case_u8(&bytes);
    uint32_t wanted = how & 1 ? case_u32(&bytes) : 0;
    const struct rule_identity any = { TABLE, how & 2 ? 0 : PROTOCOL, how & 4 ? 0 : MARK };
    const struct rule_identity ours = { TABLE, PROTOCOL, MARK };
    struct rules rules = { 0 };
    struct nlmsghdr *message;

    while (how & 8 && bytes.left > 0)
        add_near_ours(&rules, &any, &bytes);
    while ((message = messages_next(&bytes))) {
        add(&rules, &any, message);
        free(message);
    }
    check_place(&rules, &ours, wanted);
    rules_deinit(&rules);
    return 0;
}
