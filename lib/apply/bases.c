/*
 * The distinct base routes. Found by comparing with each: there are few.
 */
#include "bases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void bases_init(struct bases *bases, uint32_t first_nhid)
{
    *bases = (struct bases){ .first_nhid = first_nhid };
}

void bases_deinit(struct bases *bases)
{
    for (uint32_t i = 0; i < bases->n; i++)
        free(bases->list[i]);
    free(bases->list);
    bases_init(bases, bases->first_nhid);
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
    int r;

    for (number = 0; number < bases->n; number++) {
        held = bases->list[number];
        if (held && base_equal(&held->base, base)) {
            held->n_users++;
            *numberp = number;
            return 0;
        }
    }
    r = find_free(bases, &number);
    if (r < 0)
        return r;
    held = malloc(sizeof(*held));
    if (!held)
        return -ENOMEM;
    *held = (struct held_base){ .n_users = 1, .nhid = bases->first_nhid + number };
    /* Padding too: base_equal compares bytes. */
    memcpy(&held->base, base, sizeof(*base));
    bases->list[number] = held;
    *numberp = number;
    return 0;
}

void bases_release(struct bases *bases, uint32_t number)
{
    if (number != BASES_NONE)
        bases->list[number]->n_users--;
}

void bases_drop(struct bases *bases, uint32_t number)
{
    free(bases->list[number]);
    bases->list[number] = NULL;
}

uint32_t bases_find_nhid(const struct bases *bases, uint32_t nhid)
{
    uint32_t number = nhid - bases->first_nhid;

    return number < bases->n && bases->list[number] ? number : BASES_NONE;
}

uint32_t bases_nhid(const struct held_base *held)
{
    return held->has_object ? held->nhid : 0;
}
