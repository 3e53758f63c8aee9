/* SPDX-License-Identifier: MIT */
/*
 * What is wanted for a prefix as the program's map has it. Pure.
 */
#ifndef RIPTIDE_LIB_CONNECTIONS_KEY_H
#define RIPTIDE_LIB_CONNECTIONS_KEY_H

#include "connections/window.h"

#include <riptide/apply.h>

struct window_key window_key_of(const struct riptide_prefix *dst);

struct window window_of(const struct riptide_wanted *wanted);

#endif
