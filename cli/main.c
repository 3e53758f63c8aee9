/* SPDX-License-Identifier: MIT */
/* riptide's main, separate: the generator of man pages and completion links the commands too. */
#include "commands.h"
#include "log.h"

int main(int argc, char **argv)
{
    log_init("riptide");
    return log_finish(command_main(argc, argv));
}
