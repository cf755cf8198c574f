/* SPDX-License-Identifier: Apache-2.0 */
/* Control: one JSON object a line in, one out, over a stream socket that the parent holds the other end of. */
#ifndef BMWG_CONTROL_H
#define BMWG_CONTROL_H

/* Serves until the parent closes the channel or says quit; returns the exit status. */
int control_serve(int fd);

#endif
