/* SPDX-License-Identifier: MIT */
/*
 * Whether riptided can run with its settings. What a value may be is the library's to say.
 */
#ifndef CLI_CHECK_H
#define CLI_CHECK_H

#include "settings.h"

/*
 * Tells each value that is refused, of a section for a prefix the first; a value that is wrong
 * beside another one only where that one is not wrong itself. Such settings are of no use
 * afterwards: the values are at their defaults. Returns the exit status.
 */
int check_tell(struct settings *settings);

#endif
