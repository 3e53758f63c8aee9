/* SPDX-License-Identifier: MIT */
/*
 * Runs when riptide is built, and is not installed: man pages, completion and the example of a
 * configuration from the tables that the programs work with.
 */
#include "generate.h"

#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int manual(const char *path)
{
    FILE *page = fopen(path, "r");
    bool is_done;

    if (!page) {
        fprintf(stderr, "generate: %s: %s\n", path, strerror(errno));
        return EXIT_FAILURE;
    }
    is_done = generate_manual(stdout, page);
    fclose(page);
    return is_done ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int example(const char *name)
{
    struct settings defaults;

    (void)name;
    settings_init(&defaults);
    config_print_example(stdout, &defaults);
    settings_deinit(&defaults);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*print)(FILE *out, const char *program);
    } shells[] = { { "bash", generate_bash }, { "zsh", generate_zsh }, { "fish", generate_fish } };

    if (argc == 3 && !strcmp(argv[1], "man"))
        return manual(argv[2]);
    if (argc == 3 && !strcmp(argv[1], "example"))
        return example(argv[2]);
    for (size_t i = 0; argc == 3 && i < sizeof(shells) / sizeof(shells[0]); i++) {
        if (strcmp(argv[1], shells[i].name))
            continue;
        shells[i].print(stdout, argv[2]);
        return EXIT_SUCCESS;
    }
    fputs("Usage: generate man PAGE | example riptided | bash|zsh|fish PROGRAM\n", stderr);
    return EXIT_FAILURE;
}
