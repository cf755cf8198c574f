/* SPDX-License-Identifier: Apache-2.0 */
/* The loop that sends what is due and counts what comes, by one queue of each port. */
#ifndef BMWG_LOOP_H
#define BMWG_LOOP_H

#include "account.h"
#include "pace.h"
#include "result.h"

struct loop_order {
	const struct pace *pace; /* of the whole trial: lanes take turns in it */
	int control_fd;
	double hz, quiet_s, limit_s;
};

/* What the lanes of a trial tell each other. */
struct lanes_state {
	bool aborted, over;
	unsigned int done_sending, left; /* lanes that have sent; that have stopped receiving */
	struct {
		uint64_t last_arrival, sent;
	} __rte_cache_aligned lane[LANES];
};

#define CONTROL_LOOK_S 0.02 /* how often a running trial looks whether its master has gone or speaks */

/* Whether the master has closed the channel or sent something: either ends a running trial. */
bool loop_interrupted(int fd);
/* Time of a CPU that this thread has had. */
uint64_t loop_cpu_ns(void);
/* The one lane of a trial. */
void loop_alone(struct trial *t, const struct loop_order *o, struct loop_record *record);
/* One of several; returns when all have received all. The first one looks at the control channel and decides when it is over. */
void loop_beside(struct trial *t, const struct loop_order *o, struct loop_record *record, struct lanes_state *state);

#endif
