/* SPDX-License-Identifier: Apache-2.0 */
/* Frames beside the test stream, sent now and then: management queries and route updates (rfc2544-11.2, 11.3). */
#ifndef BMWG_EXTRA_H
#define BMWG_EXTRA_H

#include "ports.h"

/* Takes the trial's list over (NULL or an array); none is sent before `start`. */
int extras_prepare(const json_t *list, uint64_t start, double hz, struct failure *f);
/* Sends what is due. */
/* `test_frames` is how many left of the streams until now. */
void extras_send(uint64_t now, uint64_t test_frames);
/* Whether a frame answers one of them: it came to the port that asked, from the asked UDP port. Counts it. */
bool extras_input(unsigned int port, const uint8_t *frame, uint32_t length);
/* When the next one is due. */
uint64_t extras_next(void);
/* How many came back to a port. */
uint64_t extras_answered(unsigned int port);
/* Frames that were sent from a port, answered ones or not. */
json_t *extras_json(void);

#endif
