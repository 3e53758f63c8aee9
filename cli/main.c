/* SPDX-License-Identifier: MIT */
/*
 * riptide's main: apart, so that what generates man pages and completion links the commands as
 * well.
 */
#include "commands.h"
#include "log.h"

int main(int argc, char **argv)
{
    log_init("riptide");
    return log_finish(command_main(argc, argv));
}
