/* SPDX-License-Identifier: Apache-2.0 */
/* When each frame is due: a constant load, two loads one after the other (rfc2544-26.5), or bursts that repeat (rfc2544-21). */
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
	uint64_t burst_frames; /* of each burst, at the load of the first stage; 0: a constant load */
	double burst_cycles;   /* from the begin of a burst to that of the next */
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

/* Of bursts: how many frames are due so many cycles after the start. */
static inline uint64_t pace_due_bursts(const struct pace *p, uint64_t elapsed)
{
	uint64_t burst = (uint64_t)((double)elapsed / p->burst_cycles);
	uint64_t begin = (uint64_t)((double)burst * p->burst_cycles);
	uint64_t due = pace_frames(&p->stage[0], elapsed > begin ? elapsed - begin : 0);

	return burst * p->burst_frames + (due < p->burst_frames ? due : p->burst_frames);
}

/* How many frames are due at `now`, which is not before the start. */
static inline uint64_t pace_due(const struct pace *p, uint64_t now)
{
	uint64_t due;

	if (p->burst_frames)
		return pace_due_bursts(p, now - p->start);
	if (now >= p->then_at)
		return p->first + pace_frames(&p->stage[1], now - p->then_at);
	due = pace_frames(&p->stage[0], now - p->start);
	return due < p->first ? due : p->first;
}

/* When a frame is due, in cycles since the start. */
static inline uint64_t pace_due_at(const struct pace *p, uint64_t sequence)
{
	if (p->burst_frames)
		return (uint64_t)((double)(sequence / p->burst_frames) * p->burst_cycles +
				  (double)(sequence % p->burst_frames) * p->stage[0].cycles_per_frame);
	if (sequence < p->first)
		return (uint64_t)((double)sequence * p->stage[0].cycles_per_frame);
	return p->then_at - p->start + (uint64_t)((double)(sequence - p->first) * p->stage[1].cycles_per_frame);
}

#endif
