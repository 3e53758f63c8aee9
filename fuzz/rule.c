/*
 * Any messages as policy rules: where a place for ours is found, putting them there as the kernel
 * would is right, and what counts as unconditional selects nothing.
 */
#include "apply/rule.h"

#include "apply/message.h"
#include "messages.h"
#include "target.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

enum { TABLE = 7230, PROTOCOL = 230, MARK = 0x72697074 };

static bool selects_nothing(const struct nlmsghdr *message)
{
    const struct fib_rule_hdr *header = nlmsg_data(message);
    const struct nlattr *attribute;
    int remaining;

    nlmsg_for_each_attr(attribute, message, sizeof(*header), remaining)
    {
        switch (nla_type(attribute)) {
        case FRA_TABLE:
        case FRA_PRIORITY:
        case FRA_PROTOCOL:
        case FRA_GOTO:
        case FRA_PAD:
            break;
        case FRA_SUPPRESS_PREFIXLEN:
        case FRA_SUPPRESS_IFGROUP:
            if (nla_get_u32(attribute) != UINT32_MAX)
                return false;
            break;
        case FRA_FWMARK:
        case FRA_FWMASK: /* the last one counts: none may */
            break;
        default:
            return false;
        }
    }
    return header->dst_len == 0 && header->src_len == 0 && header->tos == 0 &&
           !(header->flags & FIB_RULE_INVERT);
}

static void check_delete(const struct nlmsghdr *dumped)
{
    struct nl_msg *request = message_rule_delete_dumped(dumped);

    CASE_CHECK(request && nlmsg_hdr(request)->nlmsg_type == RTM_DELRULE);
    CASE_CHECK(nlmsg_datalen(nlmsg_hdr(request)) >= nlmsg_datalen(dumped));
    CASE_CHECK(memcmp(nlmsg_data(nlmsg_hdr(request)), nlmsg_data(dumped),
                      (size_t)nlmsg_datalen(dumped)) == 0);
    nlmsg_free(request);
}

/* Those that need no rule of ours: by its table alone, and for all there are. */
static void check_other_requests(const struct rule *rule)
{
    struct nl_msg *request = message_lookup_delete(AF_INET6, rule->table);
    struct nlattr *table;

    CASE_CHECK(request && nlmsg_hdr(request)->nlmsg_type == RTM_DELRULE);
    table = nlmsg_find_attr(nlmsg_hdr(request), sizeof(struct fib_rule_hdr), FRA_TABLE);
    CASE_CHECK(table && nla_get_u32(table) == rule->table);
    nlmsg_free(request);
    request = message_rules_dump(AF_INET6);
    CASE_CHECK(request && nlmsg_hdr(request)->nlmsg_flags & NLM_F_DUMP);
    nlmsg_free(request);
}

/* Behind those of its priority, as the kernel does. */
static void insert(struct rules *rules, struct rule rule)
{
    uint32_t i = rules->n++;

    for (; i > 0 && rules->list[i - 1].priority > rule.priority; i--)
        rules->list[i] = rules->list[i - 1];
    rules->list[i] = rule;
}

static void add(struct rules *rules, const struct rule_identity *identity,
                const struct nlmsghdr *message)
{
    uint32_t before = rules->n;
    struct rule rule;

    if (rules_add(rules, identity, message) < 0) {
        CASE_CHECK(rules->n == before);
        return;
    }
    CASE_CHECK(rules->n == before + 1);
    rule = rules->list[--rules->n];
    CASE_CHECK(!rule.is_unconditional || selects_nothing(message));
    check_delete(message);
    check_other_requests(&rule);
    insert(rules, rule);
}

/* What deletes it says the same as what adds it. */
static void add_ours(struct rules *rules, const struct rule_identity *identity,
                     const struct rule_place *place, enum rule_role role)
{
    struct nl_msg *added = message_rule_add(AF_INET, place, role, identity);
    struct nl_msg *deleted = message_rule_delete(AF_INET, place, role, identity);

    CASE_CHECK(added && deleted && nlmsg_hdr(deleted)->nlmsg_type == RTM_DELRULE);
    CASE_CHECK(nlmsg_datalen(nlmsg_hdr(added)) == nlmsg_datalen(nlmsg_hdr(deleted)));
    CASE_CHECK(memcmp(nlmsg_data(nlmsg_hdr(added)), nlmsg_data(nlmsg_hdr(deleted)),
                      (size_t)nlmsg_datalen(nlmsg_hdr(added))) == 0);
    add(rules, identity, nlmsg_hdr(added));
    nlmsg_free(added);
    nlmsg_free(deleted);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct case_bytes bytes = { data, n };
    uint8_t how = case_u8(&bytes);
    uint32_t wanted = how & 1 ? case_u32(&bytes) : 0;
    const struct rule_identity any = { TABLE, how & 2 ? 0 : PROTOCOL, how & 4 ? 0 : MARK };
    const struct rule_identity ours = { TABLE, PROTOCOL, MARK };
    struct rules rules = { 0 };
    struct nlmsghdr *message;

    while ((message = messages_next(&bytes))) {
        add(&rules, &any, message);
        free(message);
    }
    check_place(&rules, &ours, wanted);
    rules_deinit(&rules);
    return 0;
}
