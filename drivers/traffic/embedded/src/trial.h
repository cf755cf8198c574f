/* SPDX-License-Identifier: Apache-2.0 */
/* One trial: pace, send, receive, drain. */
#ifndef BMWG_TRIAL_H
#define BMWG_TRIAL_H

#include "account.h"

/* Runs a trial as `spec` says and returns its counts; NULL with `f` set when it may not run (nothing sent then). */
json_t *trial_run(const json_t *spec, int control_fd, struct failure *f);
/* Between trials: answer ARP and ND, forget the rest. */
void trial_idle_poll(void);

#endif
