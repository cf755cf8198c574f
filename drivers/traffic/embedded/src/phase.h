/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much later than in an even rhythm each frame of a sender is due, in intervals between two frames: 0 to below 1.
 *
 * Ports that send in one rhythm bring a full queue their frames in one order, and of two it has always the same one dropped.
 * So each port's rhythm moves against the others': every PHASE_FRAMES frames it has come to another phase, drawn from the
 * trial's seed, the port and the number of frames. In between it moves evenly, so that no gap differs from the even one by
 * more than a PHASE_FRAMES-th of it, and the port has sent its load's frames at any time, or one less.
 */
#ifndef BMWG_PHASE_H
#define BMWG_PHASE_H

#include <stdint.h>

#define PHASE_FRAMES 64u /* choice: gaps within 1.6 %, and a new phase often enough in a trial of a tenth of a second */

/* A number of 0 to below 1 for each seed, port and place (the mixing steps are those of splitmix64). */
static inline double phase_drawn(uint64_t seed, uint32_t port, uint64_t place)
{
	uint64_t z = seed + ((uint64_t)port << 48) + (place + 1u) * 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	z ^= z >> 31;
	return (double)(z >> 11) / 9007199254740992.0;
}

static inline double phase_of(uint64_t seed, uint32_t port, uint64_t number)
{
	double from = phase_drawn(seed, port, number / PHASE_FRAMES);
	double to = phase_drawn(seed, port, number / PHASE_FRAMES + 1u);

	return from + (to - from) * (double)(number % PHASE_FRAMES) / (double)PHASE_FRAMES;
}

#endif
