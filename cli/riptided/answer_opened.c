/* SPDX-License-Identifier: MIT */
#include "answers.h"

#include "cidr.h"
#include "daemon.h"
#include "members.h"
#include "placed.h"
#include "text.h"

#include <errno.h>
#include <string.h>

/* What gave the connection its window, or kept one from it; NULL: nothing, or it is not known. */
static const char *find_giver(const struct riptide_sample *sample)
{
    if (sample->arm == RIPTIDE_ARM_HOLDOUT)
        return "holdout";
    if (sample->arm == RIPTIDE_ARM_WINDOW)
        return riptide_name(RIPTIDE_NAMES_BACKEND, RIPTIDE_PROGRAM);
    return sample->initcwnd > 0 ? riptide_name(RIPTIDE_NAMES_BACKEND, RIPTIDE_ROUTES) : NULL;
}

/* The window that new connections to it should get; 0: none is in force. */
static uint32_t find_window(const struct daemon *daemon, const struct riptide_prefix *dst)
{
    const struct riptide_window *window;

    if (daemon->settings->applier.dry_run || riptide_agent_find(daemon->agent, dst, &window) != 0)
        return 0;
    if (placed_is_in_force(window->program))
        return window->program->initcwnd;
    return placed_is_in_force(window->route) ? window->route->initcwnd : 0;
}

json_t *answer_opened(struct daemon *daemon, const struct request *request,
                      struct riptide_error *error)
{
    struct riptide_sample sample = {
        .dst = request->dst,
        .cookie = (uint64_t)request->cookie,
        .busy_time_us = (uint64_t)request->busy_time_us,
        .last_data_sent_ms = (uint32_t)request->last_data_sent_ms,
        /* One whose times are not given may be older than its route. The applier asks no route
           about it, as about one that an earlier dump has shown. */
        .shown = request->busy_time_us < 0 || request->last_data_sent_ms < 0,
    };
    const struct riptide_applier_stats *stats = riptide_agent_get_stats(daemon->agent)->applier;
    json_t *answer;
    int r;

    if (request->dst.len != cidr_count_bits(request->dst.family)) {
        refuse(error, -EINVAL, "opened: dst is no address");
        return NULL;
    }
    if (sample.cookie == 0) {
        refuse(error, -EINVAL, "opened: cookie is missing");
        return NULL;
    }
    r = riptide_agent_annotate(daemon->agent, &sample);
    if (r < 0) {
        refuse(error, r, "%s", strerror(-r));
        return NULL;
    }
    answer = json_object();
    add_member(&answer, "by", text_or_null(find_giver(&sample)));
    add_member(&answer, "initcwnd", figure_or_null(sample.initcwnd));
    add_flag(&answer, "paced", sample.paced);
    add_member(&answer, "together", figure_or_null(sample.together));
    add_member(&answer, "window", figure_or_null(find_window(daemon, &sample.dst)));
    add_member(&answer, "cgroup", text_or_null(stats->cgroup));
    return answer;
}
