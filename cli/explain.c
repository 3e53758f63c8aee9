/*
 * riptide explain: what the policies are, what each needs of a connection. Needs no daemon.
 */
#include "commands.h"

#include <stdlib.h>

const struct option_row explain_rows[] = {
    COMMAND_ROW("policy", flag, policy, "list the policies and smoothings"),
    COMMAND_ROW("help", flag, help, "print help"),
    { .name = NULL },
};

int explain_run(const struct command_options *options)
{
    const struct riptide_smoothing *smoothing;
    const struct riptide_policy *policy;

    (void)options; /* the list is all there is */
    for (size_t i = 0; (policy = riptide_policy_get(i)); i++)
        printf("%-10s  %s\n%-10s  needs %s; smoothing %s\n", policy->name, policy->help, "",
               policy->needs, policy->smoothing->name);
    printf("\nsmoothings:\n");
    for (size_t i = 0; (smoothing = riptide_smoothing_get(i)); i++)
        printf("%-10s  %s\n", smoothing->name, smoothing->help);
    return EXIT_SUCCESS;
}
