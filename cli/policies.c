/* SPDX-License-Identifier: MIT */
/*
 * riptide explain --policy: the rows of the library's two tables.
 */
#include "policies.h"

#include "lib/tools.h"

#include <riptide/compute.h>
#include <stdio.h>

void policies_print(void)
{
    const struct riptide_smoothing *smoothing;
    const struct riptide_policy *policy;

    for (size_t i = 0; (policy = riptide_policy_get(i)); i++)
        printf("%-10s  %s\n%-10s  needs %s; smoothing %s\n", policy->name, policy->help, "",
               policy->needs, policy->smoothing->name);
    printf("\nsmoothings:\n");
    for (size_t i = 0; (smoothing = riptide_smoothing_get(i)); i++)
        printf("%-10s  %s\n", smoothing->name, smoothing->help);
}

json_t *policies_to_json(void)
{
    json_t *policies = json_array(), *smoothings = json_array();
    const struct riptide_smoothing *smoothing;
    const struct riptide_policy *policy;

    for (size_t i = 0; (policy = riptide_policy_get(i)); i++)
        json_array_append_new(policies, json_pack("{s:s, s:s, s:s, s:s}", "name", policy->name,
                                                  "help", policy->help, "needs", policy->needs,
                                                  "smoothing", policy->smoothing->name));
    for (size_t i = 0; (smoothing = riptide_smoothing_get(i)); i++)
        json_array_append_new(
            smoothings, json_pack("{s:s, s:s}", "name", smoothing->name, "help", smoothing->help));
    return json_pack("{s:o, s:o}", "policies", policies, "smoothings", smoothings);
}
