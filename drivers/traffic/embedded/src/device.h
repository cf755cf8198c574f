/* SPDX-License-Identifier: Apache-2.0 */
/* A device that was plugged: its buffers, its queues, how it spreads frames over them. */
#ifndef BMWG_DEVICE_H
#define BMWG_DEVICE_H

#include "ports.h"

/* Set up and start it, each queue with `pool_frames` buffers of its own; 0 or -1 with `f` set. Sets the port's MTU and MAC. */
int device_configure(struct port *p, uint32_t least_room, uint32_t pool_frames, uint32_t descriptors, struct failure *f);

#endif
