/* SPDX-License-Identifier: MIT */
/* Commands that are a single request: riptide pause, resume and metrics. */
#include "client.h"

int pause_run(const struct command_options *options)
{
    return client_run(options, json_pack("{s:s}", "request", options->command),
                      "[{?paused}paused: windows disabled until `riptide resume`"
                      "|resumed[{?suspended_s}; still suspended for "
                      "{suspended_s:clock}]]\n");
}

int metrics_run(const struct command_options *options)
{
    return client_run(options, json_pack("{s:s}", "request", "metrics"), "{metrics}");
}
