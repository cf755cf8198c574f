/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <rte_errno.h>
#include <rte_pause.h>
#include <rte_ring_elem.h>

#include "crossing.h"

#define HANDED_FRAMES 4096u /* a power of two; a full ring holds the giver back, who counts its own frames meanwhile */
#define TAKEN_AT_ONCE 64u

struct arrival {
	uint64_t own; /* number among the sending lane's frames */
	uint64_t now;
	uint32_t stamp_delta;
	uint8_t stream;
	bool late;
};

_Static_assert(sizeof(struct arrival) % 4u == 0, "a ring's elements are whole words");

static struct rte_ring *ring_between(uint16_t from, uint16_t to)
{
	char name[RTE_RING_NAMESIZE];
	struct rte_ring *ring;

	snprintf(name, sizeof(name), "lane%uto%u", from, to);
	ring = rte_ring_lookup(name);
	if (!ring)
		ring = rte_ring_create_elem(name, sizeof(struct arrival), HANDED_FRAMES, SOCKET_ID_ANY,
					    RING_F_SP_ENQ | RING_F_SC_DEQ);
	return ring;
}

int crossing_prepare(struct crossing *c, uint16_t lane, uint16_t lanes, struct failure *f)
{
	memset(c, 0, sizeof(*c));
	for (uint16_t other = 0; other < lanes; other++) {
		if (other == lane)
			continue;
		c->to[other] = ring_between(lane, other);
		c->from[other] = ring_between(other, lane);
		if (!c->to[other] || !c->from[other])
			return failure_set(f, "memory", "no memory for a ring between lanes: %s", rte_strerror(rte_errno));
	}
	return 0;
}

void crossing_take(struct trial *t)
{
	for (uint16_t other = 0; other < t->lanes; other++) {
		struct arrival taken[TAKEN_AT_ONCE];
		struct rte_ring *ring = t->crossing->from[other];
		unsigned int count;

		while (ring && (count = rte_ring_sc_dequeue_burst_elem(ring, taken, sizeof(taken[0]), TAKEN_AT_ONCE, NULL)))
			for (unsigned int i = 0; i < count; i++)
				crossing_count(t, &t->streams[taken[i].stream], taken[i].own, taken[i].stamp_delta,
					       taken[i].now, taken[i].late);
	}
}

void crossing_hand(struct trial *t, const struct stream *s, uint16_t to, uint64_t own, uint32_t stamp_delta, bool late)
{
	const struct arrival a = {.own = own, .now = t->now, .stamp_delta = stamp_delta, .stream = s->index, .late = late};

	t->crossing->handed++;
	while (rte_ring_sp_enqueue_elem(t->crossing->to[to], (void *)(uintptr_t)&a, sizeof(a))) {
		crossing_take(t); /* the other lane may wait for us in the same way */
		rte_pause();
	}
}
