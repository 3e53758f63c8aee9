/* SPDX-License-Identifier: MIT */
/*
 * Standard output as a terminal.
 */
#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct table_style terminal_style(void)
{
    const char *no_colour = getenv("NO_COLOR"), *kind = getenv("TERM");
    struct table_style style = { .width = 0 };
    struct winsize size;

    if (!isatty(STDOUT_FILENO))
        return style;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        style.width = size.ws_col; /* 0 where the terminal does not know */
    style.is_coloured = !(no_colour && *no_colour) && kind && strcmp(kind, "dumb") != 0;
    return style;
}
