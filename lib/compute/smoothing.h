/* SPDX-License-Identifier: MIT */
/*
 * The smoothings that policies name as theirs.
 */
#ifndef RIPTIDE_LIB_COMPUTE_SMOOTHING_H
#define RIPTIDE_LIB_COMPUTE_SMOOTHING_H

#include <riptide/compute.h>

extern const struct riptide_smoothing smoothing_ewma;
extern const struct riptide_smoothing smoothing_none;

#endif
