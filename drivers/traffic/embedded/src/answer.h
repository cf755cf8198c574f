/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BMWG_ANSWER_H
#define BMWG_ANSWER_H

#include "ports.h"

/* Write {"id": .., "result": ..} or {"id": .., "error": {"code", "text"}}; takes `result`. False: peer gone. */
bool answer(int fd, json_int_t id, json_t *result, const struct failure *f);

#endif
