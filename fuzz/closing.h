/* SPDX-License-Identifier: MIT */
/*
 * Sockets that dumps show and that close, against a plain list of those shown: what may not count
 * twice stays away, and what nobody has shown comes out.
 */
#ifndef RIPTIDE_FUZZ_CLOSING_H
#define RIPTIDE_FUZZ_CLOSING_H

#include "case_bytes.h"

void closing_run(struct case_bytes *bytes);

#endif
