/* SPDX-License-Identifier: MIT */
/* Words for the library's results, as answers, the log and the diagnosis have them. Pure. */
#ifndef CLI_WORDS_H
#define CLI_WORDS_H

#include <riptide/agent.h>

/* "helps", "harms", "mixed" (one figure is better, the other one worse) or "none". */
const char *words_verdict(const struct riptide_verdict *verdict);

enum { WORDS_BYTES = 256 };

/* What has become of a destination by one backend: "left alone: REASON". */
void words_route(const struct riptide_route *route, char text[WORDS_BYTES]);

#endif
