/* SPDX-License-Identifier: MIT */
/*
 * rtnetlink dumps for doctor: links, queues, main's routes.
 */
#ifndef CLI_DOCTOR_DUMP_H
#define CLI_DOCTOR_DUMP_H

#include "link.h"

/* Both leave -errno in `error` where the kernel could not be asked. */
void dump_links(struct links *links);
void dump_main_routes(struct main_routes *routes);

#endif
