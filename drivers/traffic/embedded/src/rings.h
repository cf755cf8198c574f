/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports that are rings in this process: what lane i sends by one arrives at queue i of the other. For tests and for
 * measuring the loop itself: no kernel and no NIC takes part, and what happens to frames on the way is known. Of more
 * than two ports the first is joined to the second, the third to the fourth, and so on.
 */
#ifndef BMWG_RINGS_H
#define BMWG_RINGS_H

#include "ports.h"

/*
 * "ring:" and words joined by "+" for what reaches this port: "drop=K" loses every Kth frame of each queue. Of those that
 * are left, "cross=K" moves every Kth to the next queue, "double=K" gives the next queue a second copy of every Kth, and
 * "late=K" lets every Kth wait for the one after it. "ring:" alone is a plain wire.
 */
bool rings_wanted(const char *devargs);
/* 0, or not; sets the port's device. Both ports need the same number of queues. */
int rings_plug(struct port *p, const char *devargs);
/* Before the device is stopped, and after it is gone. */
void rings_let_go(struct port *p);
void rings_unplug(struct port *p);

#endif
