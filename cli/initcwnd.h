/* SPDX-License-Identifier: MIT */
/*
 * The initial window among the metrics of a route. Pure.
 */
#ifndef CLI_INITCWND_H
#define CLI_INITCWND_H

#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <stdint.h>

/* Reads RTA_METRICS: segments; 0 where it is not set. */
static inline uint32_t initcwnd_find(const struct nlattr *metrics)
{
    const struct nlattr *attribute;
    int remaining;

    nla_for_each_nested(attribute, metrics, remaining)
    {
        if (nla_type(attribute) == RTAX_INITCWND && nla_len(attribute) == sizeof(uint32_t))
            return nla_get_u32(attribute);
    }
    return 0;
}

#endif
