/* SPDX-License-Identifier: Apache-2.0 */
/* Precedence of the tester's own thread over whatever else runs on its CPU (docs/adr/0180). */
#ifndef BMWG_PRECEDENCE_H
#define BMWG_PRECEDENCE_H

#include <stdbool.h>

/* For the life of the process: the best that an ordinary thread can have. */
void precedence_take(void);

/*
 * The lowest real-time priority for the next `seconds`, where the kernel's budget for real-time threads holds so long.
 * False: the thread stays an ordinary one.
 */
bool precedence_raise(double seconds);
void precedence_lower(void);

#endif
