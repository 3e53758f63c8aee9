/*
 * The distinct base routes. Found by comparing with each: there are few.
 */
#include "bases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void bases_deinit(struct bases *bases)
{
    for (uint32_t i = 0; i < bases->n; i++)
        free(bases->list[i]);
    free(bases->list);
    *bases = (struct bases){ 0 };
}

const struct base *bases_at(const struct bases *bases, uint32_t number)
{
    return &bases->list[number]->base;
}

static int find_free(struct bases *bases, uint32_t *numberp)
{
    struct held_base **list;

    for (*numberp = 0; *numberp < bases->n; ++*numberp) {
        if (!bases->list[*numberp])
            return 0;
    }
    list = realloc(bases->list, (bases->n + 1) * sizeof(*list));
    if (!list)
        return -ENOMEM;
    list[bases->n++] = NULL;
    bases->list = list;
    return 0;
}

int bases_hold(struct bases *bases, const struct base *base, uint32_t *numberp)
{
    struct held_base *held;
    uint32_t number;

    for (number = 0; number < bases->n; number++) {
        held = bases->list[number];
        if (held && base_equal(&held->base, base)) {
            held->n_users++;
            *numberp = number;
            return 0;
        }
    }
    held = malloc(sizeof(*held));
    if (!held || find_free(bases, &number) < 0) {
        free(held);
        return -ENOMEM;
    }
    /* Padding too: base_equal compares bytes. */
    memcpy(&held->base, base, sizeof(*base));
    held->n_users = 1;
    bases->list[number] = held;
    *numberp = number;
    return 0;
}

void bases_share(struct bases *bases, uint32_t number)
{
    if (number != BASES_NONE)
        bases->list[number]->n_users++;
}

void bases_release(struct bases *bases, uint32_t number)
{
    if (number == BASES_NONE || --bases->list[number]->n_users > 0)
        return;
    free(bases->list[number]);
    bases->list[number] = NULL;
}

bool bases_has_link(const struct bases *bases, uint32_t ifindex)
{
    for (uint32_t i = 0; i < bases->n; i++) {
        const struct held_base *held = bases->list[i];

        if (held && (held->base.ifindex == ifindex || held->base.ifindex == 0))
            return true;
    }
    return false;
}

bool bases_has_prefsrc(const struct bases *bases, const struct riptide_prefix *address)
{
    for (uint32_t i = 0; i < bases->n; i++) {
        if (bases->list[i] && riptide_prefix_equal(&bases->list[i]->base.prefsrc, address))
            return true;
    }
    return false;
}
