/* SPDX-License-Identifier: MIT */
/*
 * The rules as the kernel has them, for tools.
 */
#include "netlink.h"
#include "config.h"
#include "internal.h"
#include "message.h"
#include "netns.h"
#include "prefix.h"
#include "tools.h"

#include <errno.h>
#include <riptide/apply.h>
#include <stdlib.h>

struct reading {
    struct rule_identity identity;
    uint8_t family;
    struct rules rules; /* of the family */
    struct riptide_rule *found;
    size_t n;
};

static struct nlmsghdr *begin(void *userdata, void *room)
{
    struct reading *reading = userdata;

    reading->rules.n = 0;
    return message_rules_dump(room, reading->family);
}

static int on_rule(void *userdata, const struct nlmsghdr *message)
{
    struct reading *reading = userdata;
    int r = rules_add(&reading->rules, &reading->identity, message);

    return r == -ENOMEM ? r : 0;
}

static int append(struct reading *reading)
{
    struct riptide_rule *found =
        reallocarray(reading->found, reading->n + reading->rules.n + 1, sizeof(*found));

    if (!found)
        return -ENOMEM;
    reading->found = found;
    for (uint32_t i = 0; i < reading->rules.n; i++) {
        const struct rule *rule = &reading->rules.list[i];

        found[reading->n++] = (struct riptide_rule){
            .family = reading->family,
            .protocol = rule->protocol,
            .is_ours = rule->role != RULE_FOREIGN,
            .is_unconditional = rule->is_unconditional,
            .priority = rule->priority,
            .table = rule->table,
            .target = rule->target,
            .mark = rule->fwmark,
            .suppress_prefixlength = rule->suppress_prefixlength,
        };
    }
    return 0;
}

static int read_here(void *userdata, struct riptide_error *error)
{
    struct reading *reading = userdata;
    struct netlink channel;
    int r = netlink_init(&channel);

    (void)error;
    for (size_t i = 0; i < 2 && r == 0; i++) {
        reading->family = families[i];
        r = netlink_dump_all(&channel, begin, on_rule, reading);
        if (r == 0)
            r = append(reading);
        else if (netlink_is_absence(r))
            r = 0;
    }
    netlink_deinit(&channel);
    return r;
}

int riptide_rules_read(const struct riptide_router_config *config,
                       struct riptide_rule **rulesp, size_t *n_rulesp)
{
    struct riptide_router_config checked;
    struct reading reading = { 0 };
    int r;

    r = router_config_take(&checked, config, NULL);
    if (r < 0)
        return r;
    reading.identity = router_config_identity(&checked);
    reading.identity.mark = 0; /* ours are ours with whichever mark */
    r = netns_call(checked.netns_fd, read_here, &reading, NULL);
    rules_deinit(&reading.rules);
    if (r < 0) {
        free(reading.found);
        return r;
    }
    *rulesp = reading.found;
    *n_rulesp = reading.n;
    return 0;
}

struct riptide_rule *riptide_rules_free(struct riptide_rule *rules)
{
    free(rules);
    return NULL;
}
