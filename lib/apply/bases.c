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

static struct held_base *find(const struct bases *bases, const struct base *base, uint32_t *numberp)
{
    for (*numberp = 0; *numberp < bases->n; ++*numberp) {
        struct held_base *held = bases->list[*numberp];

        if (held && base_equal(&held->base, base))
            return held;
    }
    return NULL;
}

static struct held_base *move(const struct bases *bases, const struct base *base, uint32_t former)
{
    struct held_base *held = former == BASES_NONE ? NULL : bases->list[former];

    if (!held || !held->has_object || !base_is_moved(&held->base, base))
        return NULL;
    memcpy(&held->base, base, sizeof(*base));
    held->is_moved = true;
    return held;
}

static struct held_base *add(struct bases *bases, const struct base *base, uint32_t *numberp)
{
    struct held_base *held;

    if (find_free(bases, numberp) < 0)
        return NULL;
    held = calloc(1, sizeof(*held));
    if (!held)
        return NULL;
    held->nhid = bases->first_nhid + *numberp;
    /* Padding too: base_equal compares bytes. */
    memcpy(&held->base, base, sizeof(*base));
    bases->list[*numberp] = held;
    return held;
}

int bases_hold(struct bases *bases, const struct base *base, uint32_t former, uint32_t *numberp)
{
    struct held_base *held;
    uint32_t number;

    held = find(bases, base, &number);
    if (!held) {
        held = move(bases, base, former);
        number = former;
    }
    if (!held)
        held = add(bases, base, &number);
    if (!held)
        return -ENOMEM;
    held->n_users++;
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

bool bases_has_link(const struct bases *bases, uint32_t ifindex)
{
    for (uint32_t i = 0; i < bases->n; i++) {
        const struct held_base *held = bases->list[i];

        if (held && held->n_users > 0 && (held->base.ifindex == ifindex || held->base.ifindex == 0))
            return true;
    }
    return false;
}
