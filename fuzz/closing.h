/* SPDX-License-Identifier: MIT */
/*
 * Sockets that dumps show and that close, compared with a plain list of those shown: no socket
 * counts twice, and sockets that no dump has shown are reported.
 */
#ifndef RIPTIDE_FUZZ_CLOSING_H
#define RIPTIDE_FUZZ_CLOSING_H

#include "case_bytes.h"

void closing_run(struct case_bytes *bytes);

#endif
