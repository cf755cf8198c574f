/* SPDX-License-Identifier: Apache-2.0 */
/* When each frame is due: a constant load, or two loads one after the other (rfc2544-26.5). */
#ifndef BMWG_PACE_H
#define BMWG_PACE_H

#include <stdint.h>

struct pace_stage {
	uint64_t per_cycle; /* frames per cycle, 64 fraction bits */
	double cycles_per_frame;
};

struct pace {
	uint64_t start;
	uint64_t end;	  /* nothing is sent after it */
	uint64_t first;	  /* frames of the first stage */
	uint64_t then_at; /* when the first frame of the second stage is due; UINT64_MAX: there is none */
	struct pace_stage stage[2];
	uint32_t burst_limit;
};

static inline struct pace_stage pace_stage(double load_fps, double hz)
{
	return (struct pace_stage){.per_cycle = (uint64_t)(load_fps / hz * 18446744073709551616.0),
				   .cycles_per_frame = hz / load_fps};
}

static inline uint64_t pace_frames(const struct pace_stage *stage, uint64_t cycles)
{
	return (uint64_t)(((unsigned __int128)cycles * stage->per_cycle) >> 64) + 1u;
}

/* How many frames are due at `now`, which is not before the start. */
static inline uint64_t pace_due(const struct pace *p, uint64_t now)
{
	uint64_t due;

	if (now >= p->then_at)
		return p->first + pace_frames(&p->stage[1], now - p->then_at);
	due = pace_frames(&p->stage[0], now - p->start);
	return due < p->first ? due : p->first;
}

/* When a frame is due, in cycles since the start. */
static inline uint64_t pace_due_at(const struct pace *p, uint64_t sequence)
{
	if (sequence < p->first)
		return (uint64_t)((double)sequence * p->stage[0].cycles_per_frame);
	return p->then_at - p->start + (uint64_t)((double)(sequence - p->first) * p->stage[1].cycles_per_frame);
}

#endif
