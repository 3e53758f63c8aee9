/*
 * Runs of netlink attributes, copied byte by byte.
 */
#include "attrs.h"

#include <errno.h>
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

int attrs_put(const struct attrs *attrs, struct nl_msg *message)
{
    if (attrs->n_bytes == 0)
        return 0;
    /* nlmsg_append wants a pointer that it may not write to, and says void *. */
    return nlmsg_append(message, (void *)attrs->bytes, attrs->n_bytes, NLMSG_ALIGNTO) < 0 ? -ENOMEM
                                                                                          : 0;
}

bool attr_u32(const struct nlattr *attribute, uint32_t *value)
{
    if (nla_len(attribute) != sizeof(*value))
        return false;
    memcpy(value, nla_data(attribute), sizeof(*value));
    return true;
}
