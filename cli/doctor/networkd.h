/* SPDX-License-Identifier: MIT */
/*
 * Whether systemd-networkd takes away what is not its own: networkd.conf(5).
 */
#ifndef CLI_DOCTOR_NETWORKD_H
#define CLI_DOCTOR_NETWORKD_H

#include <stdbool.h>

#define NETWORKD_PATH_BYTES 160

struct networkd_setting {
    bool is_off;                    /* default: on, foreign things are removed */
    bool is_of_drop_in;
    char path[NETWORKD_PATH_BYTES]; /* who said so last; empty: the default */
};

struct networkd {
    bool is_in_use;
    struct networkd_setting routes; /* ManageForeignRoutes= */
    struct networkd_setting rules;  /* ManageForeignRoutingPolicyRules= */
};

/* Reads what there is below `root`. */
void networkd_read(struct networkd *networkd, const char *root);

#endif
