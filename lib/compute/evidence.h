/* SPDX-License-Identifier: MIT */
/* Evidence in samples, for all policies: whether a sample has any. Pure. */
#ifndef RIPTIDE_LIB_COMPUTE_EVIDENCE_H
#define RIPTIDE_LIB_COMPUTE_EVIDENCE_H

#include <riptide/compute.h>

/* Left out if not used, idle, or without the figures of a rate. */
enum riptide_left_out evidence_check(const struct riptide_sample *sample);

/* Segments with data, without retransmissions, which data_segs_out includes. */
static inline uint32_t evidence_segs_sent_once(const struct riptide_sample *sample)
{
    uint32_t sent = sample->data_segs_out, again = sample->retrans_segs;

    return sent > again ? sent - again : 0;
}

#endif
