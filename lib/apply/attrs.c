/* SPDX-License-Identifier: MIT */
/*
 * Runs of netlink attributes, copied byte by byte.
 */
#include "attrs.h"

#include <string.h>

bool attrs_add(struct attrs *attrs, const struct nlattr *attribute)
{
    uint32_t padded = (uint32_t)NLA_ALIGN(attribute->nla_len);

    if (padded > sizeof(attrs->bytes) - attrs->n_bytes)
        return false;
    memset(attrs->bytes + attrs->n_bytes, 0, padded);
    memcpy(attrs->bytes + attrs->n_bytes, attribute, attribute->nla_len);
    attrs->n_bytes += padded;
    return true;
}

bool attrs_append(struct attrs *attrs, const struct attrs *other)
{
    if (other->n_bytes > sizeof(attrs->bytes) - attrs->n_bytes)
        return false;
    memcpy(attrs->bytes + attrs->n_bytes, other->bytes, other->n_bytes);
    attrs->n_bytes += other->n_bytes;
    return true;
}
