/* SPDX-License-Identifier: MIT */
/*
 * Whether systemd-networkd takes away what is not its own: networkd.conf(5). Pure.
 */
#ifndef CLI_DOCTOR_NETWORKD_H
#define CLI_DOCTOR_NETWORKD_H

#include <stdbool.h>

#define NETWORKD_PATH_BYTES 160

struct networkd_setting {
    bool is_off;                    /* default: on, foreign things are removed */
    char path[NETWORKD_PATH_BYTES]; /* who said so last; empty: the default */
};

struct networkd {
    bool is_in_use;
    struct networkd_setting routes; /* ManageForeignRoutes= */
    struct networkd_setting rules;  /* ManageForeignRoutingPolicyRules= */
};

/* Takes in one configuration file; files are given in the order in which networkd reads them. */
void networkd_add(struct networkd *networkd, const char *text, const char *path);

#endif
