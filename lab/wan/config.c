/* SPDX-License-Identifier: MIT */
/*
 * Reads --port and --path. What a key means is a row in a table; what a combination of keys means
 * is checked once all of them are read. Pure; main.c prints the refusals.
 */
#include "config.h"
#include "quantity.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All values of one option, before it becomes a port or a path. */
struct draft {
    struct wan_port port;
    struct wan_path path;
    char from[WAN_NAME_SIZE];
    struct wan_table prefixes; /* net= or to= */
};

struct key {
    const char *name;
    const struct wan_quantity *quantity; /* NULL: text */
    size_t offset, text_size;
};

#define QUANTITY(name, field, quantity)                                                            \
    {                                                                                              \
        name, &(quantity), offsetof(struct draft, field), 0                                        \
    }
#define TEXT(name, field)                                                                          \
    {                                                                                              \
        name, NULL, offsetof(struct draft, field), sizeof(((struct draft *)NULL)->field)           \
    }

static const struct key port_keys[] = {
    TEXT("name", port.name),
    TEXT("netns", port.netns),
    TEXT("dev", port.dev),
    QUANTITY("mtu", port.mtu_bytes, wan_mtu),
    QUANTITY("up_rate", port.uplink.rate_bps, wan_rate),
    QUANTITY("up_buffer", port.uplink.buffer_bytes, wan_size),
    QUANTITY("down_rate", port.downlink.rate_bps, wan_rate),
    QUANTITY("down_buffer", port.downlink.buffer_bytes, wan_size),
    { 0 },
};

static const struct key path_keys[] = {
    TEXT("from", from),
    QUANTITY("delay", path.delay_ns, wan_duration),
    QUANTITY("rate", path.link.rate_bps, wan_rate),
    QUANTITY("buffer", path.link.buffer_bytes, wan_size),
    QUANTITY("loss", path.loss, wan_share),
    QUANTITY("seed", path.seed, wan_seed),
    QUANTITY("jitter", path.jitter_ns, wan_duration),
    QUANTITY("reorder", path.reorder, wan_yes_no),
    { 0 },
};

__attribute__((format(printf, 2, 3))) static int refuse(struct wan_refusal *refusal,
                                                        const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(refusal->text, sizeof(refusal->text), format, args);
    va_end(args);
    return -EINVAL;
}

static int parse_key(const struct key *keys, char *key, char *value, struct draft *draft,
                     struct wan_refusal *refusal)
{
    for (; keys->name; keys++) {
        if (strcmp(keys->name, key))
            continue;
        if (keys->quantity) {
            uint64_t *field = (void *)((char *)draft + keys->offset);

            if (!wan_quantity_parse(keys->quantity, value, field))
                return 0;
            return refuse(refusal, "%s=%s: give %s", key, value, keys->quantity->remedy);
        }
        if (!*value || strlen(value) >= keys->text_size)
            return refuse(refusal, "%s=%s: give 1 to %zu characters", key, value,
                          keys->text_size - 1);
        strcpy((char *)draft + keys->offset, value);
        return 0;
    }
    return -ENOENT;
}

static int find_port(const struct wan_network *network, const char *name, uint32_t *indexp)
{
    for (size_t i = 0; i < network->port_count; i++) {
        if (!strcmp(network->ports[i].name, name)) {
            *indexp = (uint32_t)i;
            return 0;
        }
    }
    return -ENOENT;
}

/* A prefix, or for a path the name of a port, which stands for all hosts behind it. */
static int add_prefix(struct wan_network *network, const char *key, const char *value,
                      uint32_t index, struct wan_table *prefixes, struct wan_refusal *refusal)
{
    const struct wan_table *nets = &network->nets;
    struct wan_prefix prefix;
    uint32_t port_index;
    int error = 0;

    if (!strcmp(key, "to") && !find_port(network, value, &port_index)) {
        for (size_t i = 0; i < nets->count && !error; i++) {
            if (nets->routes[i].value == port_index)
                error = wan_table_add(prefixes, &nets->routes[i].prefix, index);
        }
    } else if (wan_prefix_parse(value, &prefix)) {
        return refuse(refusal, "%s=%s: give a prefix such as 10.9.1.0/24 or fd09:1::/64%s", key,
                      value, *key == 't' ? ", or the name of a --port given before" : "");
    } else {
        error = wan_table_add(prefixes, &prefix, index);
    }
    if (error == -EEXIST)
        return refuse(refusal, "%s=%s: this prefix is there twice, remove one", key, value);
    return error;
}

static int parse_option(struct wan_network *network, const struct key *keys, const char *list_key,
                        uint32_t index, const char *text, struct draft *draft,
                        struct wan_refusal *refusal)
{
    char *copy = strdup(text), *rest = copy, *word;
    int error = copy ? 0 : -ENOMEM;

    while (!error && (word = strsep(&rest, ","))) {
        char *value = strchr(word, '=');

        if (!value) {
            error = refuse(refusal, "'%s': write it as key=value", word);
            break;
        }
        *value++ = '\0';
        if (!strcmp(word, list_key))
            error = add_prefix(network, word, value, index, &draft->prefixes, refusal);
        else
            error = parse_key(keys, word, value, draft, refusal);
        if (error == -ENOENT) {
            int used = snprintf(refusal->text, sizeof(refusal->text), "%s=%s: use one of %s", word,
                                value, list_key);

            for (const struct key *key = keys; key->name && used < 400; key++)
                used += sprintf(refusal->text + used, ", %s", key->name);
            error = -EINVAL;
        }
    }
    free(copy);
    return error;
}

static int check_link(const struct wan_link *link, const char *prefix, struct wan_refusal *refusal)
{
    if (!link->rate_bps == !link->buffer_bytes)
        return 0;
    return refuse(refusal, "%s%s alone: give %srate and %sbuffer together", prefix,
                  link->rate_bps ? "rate" : "buffer", prefix, prefix);
}

static int check_port(const struct wan_network *network, const struct draft *draft,
                      struct wan_refusal *refusal)
{
    const struct wan_port *port = &draft->port;
    uint32_t other;
    int error;

    if (!*port->name || !*port->netns || !draft->prefixes.count)
        return refuse(refusal, "%s= is missing: give name, netns and one net or more",
                      !*port->name    ? "name"
                      : !*port->netns ? "netns"
                                      : "net");
    if (!find_port(network, port->name, &other))
        return refuse(refusal, "name=%s: there is such a port already", port->name);
    /* Names are printed unchanged, and must not look like an address. */
    if (strspn(port->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") !=
        strlen(port->name))
        return refuse(refusal, "name=%s: use letters, digits, - and _", port->name);
    error = check_link(&port->uplink, "up_", refusal);
    return error ? error : check_link(&port->downlink, "down_", refusal);
}

int wan_config_port(struct wan_network *network, const char *text, struct wan_refusal *refusal)
{
    struct draft draft = { .port = { .dev = "wan0", .mtu_bytes = 1500 } };
    uint32_t index = (uint32_t)network->port_count;
    int error;

    error = parse_option(network, port_keys, "net", index, text, &draft, refusal);
    if (!error)
        error = check_port(network, &draft, refusal);
    for (size_t i = 0; i < draft.prefixes.count && !error; i++) {
        error = wan_table_add(&network->nets, &draft.prefixes.routes[i].prefix, index);
        if (error == -EEXIST)
            error = refuse(refusal, "one of its net= is another port's: give each port its own");
    }
    free(draft.prefixes.routes);
    if (!error)
        network->ports[network->port_count++] = draft.port;
    return error;
}

int wan_config_path(struct wan_network *network, const char *text, struct wan_refusal *refusal)
{
    /* A seed of its own for each path, or both directions would lose the same packets. */
    uint32_t index = (uint32_t)network->path_count;
    struct draft draft = { .path = { .text = text, .seed = index + 1 } };
    struct wan_prefix everything = { 0 };
    struct wan_table *table = &network->any_paths;
    uint32_t from;
    int error;

    error = parse_option(network, path_keys, "to", index, text, &draft, refusal);
    if (!error)
        error = check_link(&draft.path.link, "", refusal);
    if (!error && *draft.from) {
        error = find_port(network, draft.from, &from);
        if (error)
            error = refuse(refusal, "from=%s: give the name of a --port given before", draft.from);
        else
            table = &network->ports[from].paths;
    }
    if (!error && !draft.prefixes.count)
        error = wan_table_add(&draft.prefixes, &everything, index);
    for (size_t i = 0; i < draft.prefixes.count && !error; i++) {
        error = wan_table_add(table, &draft.prefixes.routes[i].prefix, index);
        if (error == -EEXIST)
            error = refuse(refusal, "there is a path for this already: change its from or to");
    }
    free(draft.prefixes.routes);
    draft.path.random_state = draft.path.seed;
    if (!error)
        network->paths[network->path_count++] = draft.path;
    return error;
}

int wan_config_change(struct wan_network *network, const char *text, uint64_t now_ns,
                      struct wan_refusal *refusal)
{
    struct draft draft = { .from = "" };
    struct wan_path *path;
    char *rest;
    unsigned long number = strtoul(text, &rest, 10);
    uint64_t old_bps;
    int error;

    if (number == 0 || number > network->path_count || *rest++ != ' ')
        return refuse(refusal, "give the number of a path, a blank, and what becomes of it");
    path = &network->paths[number - 1];
    draft.path = *path;
    error = parse_option(network, path_keys, "to", (uint32_t)number - 1, rest, &draft, refusal);
    if (!error && (draft.prefixes.count || *draft.from))
        error = refuse(refusal, "a path keeps its from and to");
    free(draft.prefixes.routes);
    if (!error)
        error = check_link(&draft.path.link, "", refusal);
    if (error)
        return error;
    old_bps = path->link.rate_bps;
    *path = draft.path;
    if (path->link.free_ns > now_ns && old_bps && path->link.rate_bps)
        path->link.free_ns = now_ns + (uint64_t)((double)(path->link.free_ns - now_ns) *
                                                 (double)old_bps / (double)path->link.rate_bps);
    return 0;
}

int wan_config_finish(struct wan_network *network, struct wan_refusal *refusal)
{
    const struct wan_table *any = &network->any_paths;

    if (!network->port_count || !network->path_count)
        return refuse(refusal, "nothing to do: give --port for each host, and --path");
    for (size_t p = 0; p < network->port_count; p++) {
        for (size_t i = 0; i < any->count; i++) {
            const struct wan_route *route = &any->routes[i];
            int error = wan_table_add(&network->ports[p].paths, &route->prefix, route->value);

            /* Paths with a source come before those without. */
            if (error && error != -EEXIST)
                return error;
        }
    }
    return 0;
}
