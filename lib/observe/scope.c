/*
 * Which destinations to learn: the plain evaluation of a scope. Pure. That its prefixes are valid
 * is checked where a configuration comes in.
 */
#include "internal.h"
#include "prefix.h"

#include <riptide/observe.h>

RIPTIDE_PUBLIC bool riptide_scope_matches(const struct riptide_scope *scope,
                                          const struct riptide_prefix *dst)
{
    const struct riptide_prefix *exclude, *learn;

    exclude = prefix_longest_match(scope->exclude, scope->n_exclude, dst);
    if (scope->n_learn == 0)
        return !exclude;
    learn = prefix_longest_match(scope->learn, scope->n_learn, dst);
    return learn && (!exclude || learn->len > exclude->len);
}
