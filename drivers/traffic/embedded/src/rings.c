/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rte_ethdev.h>
#include <rte_eth_ring.h>
#include <rte_ring.h>

#include "rings.h"

#define PREFIX "ring:"
/* Powers of two. */
#define SLOTS 2048u	   /* of a wire: as many as a NIC's usual descriptors */
#define STEP 4u		   /* DPDK counts frames in 32 octets a queue: so two lanes never write to the same cache lines */
#define MOST_QUEUES 16u	   /* that its ring device has */
#define ASIDE_SLOTS 65536u /* for a queue whose lane's CPU is away for a while */

/* What reaches one queue of a port. */
struct queue {
	struct rte_ring *wire, *aside; /* sent by the other port; put there by the queue before this one */
	struct rte_ring *next_aside;   /* NULL: there is one queue */
	uint64_t seen, left;	       /* frames of the wire; those that were not dropped */
	struct rte_mbuf *held;	       /* goes after the next one */
	uint64_t drop, late, cross, twice; /* every how many; 0: none */
	const struct rte_eth_rxtx_callback *meddler; /* NULL: a plain wire */
};

static struct queue queues[PORTS][LANES];

bool rings_wanted(const char *devargs)
{
	return !strncmp(devargs, PREFIX, strlen(PREFIX));
}

static int words_read(const char *text, struct queue *q)
{
	char word[16], joint;
	unsigned long every;
	int used;

	for (text += strlen(PREFIX); *text; text += used) {
		uint64_t *to;

		if (sscanf(text, "%15[a-z]=%lu%n", word, &every, &used) != 2 || !every)
			return -1;
		to = !strcmp(word, "drop")     ? &q->drop
		     : !strcmp(word, "late")   ? &q->late
		     : !strcmp(word, "cross")  ? &q->cross
		     : !strcmp(word, "double") ? &q->twice
					       : NULL;
		joint = text[used];
		if (!to || (joint && joint != '+') || (joint && !text[used + 1]))
			return -1;
		*to = every;
		used += joint == '+';
	}
	return 0;
}

static bool put_aside(struct queue *q, struct rte_mbuf *frame)
{
	return q->next_aside && !rte_ring_sp_enqueue(q->next_aside, frame);
}

/* Between the wire and who asks for frames: `count` of the wire's are in `frames`, at most `most` may be. */
static uint16_t meddle(uint16_t port, uint16_t number, struct rte_mbuf **frames, uint16_t count, uint16_t most, void *of)
{
	struct queue *q = of;
	struct rte_mbuf *passed[BURST_LIMIT + 1];
	uint16_t kept = 0;

	(void)port;
	(void)number;
	for (uint16_t i = 0; i < count; i++) {
		struct rte_mbuf *frame = frames[i];

		if (q->drop && ++q->seen % q->drop == 0) {
			rte_pktmbuf_free(frame);
			continue;
		}
		q->left++;
		if (q->twice && q->left % q->twice == 0) {
			rte_mbuf_refcnt_update(frame, 1);
			if (!put_aside(q, frame))
				rte_mbuf_refcnt_update(frame, -1);
		}
		if (q->cross && q->left % q->cross == 0 && put_aside(q, frame))
			continue;
		if (q->held) { /* one more than came in this turn, one less in an earlier one */
			passed[kept++] = frame;
			passed[kept++] = q->held;
			q->held = NULL;
		} else if (q->late && q->left % q->late == 0) {
			q->held = frame;
		} else {
			passed[kept++] = frame;
		}
	}
	for (uint16_t i = 0; i < RTE_MIN(kept, most); i++)
		frames[i] = passed[i];
	if (kept > most) {
		q->held = passed[most];
		return most;
	}
	return kept + (uint16_t)rte_ring_sc_dequeue_burst(q->aside, (void **)&frames[kept], most - kept, NULL);
}

static struct rte_ring *ring_make(const char *kind, unsigned int slots, unsigned int port, uint16_t queue)
{
	char name[RTE_RING_NAMESIZE];
	struct rte_ring *ring;

	snprintf(name, sizeof(name), "%s%u.%u", kind, port, queue);
	ring = rte_ring_lookup(name);
	return ring ? ring : rte_ring_create(name, slots, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
}

int rings_plug(struct port *p, const char *devargs)
{
	unsigned int mine = (unsigned int)(p - ports);
	struct rte_ring *in[MOST_QUEUES], *out[MOST_QUEUES];
	struct queue *q = queues[mine], words = {0};
	char name[16];
	int id;

	if (words_read(devargs, &words) || p->queues * STEP > MOST_QUEUES)
		return -1;
	for (uint16_t i = 0; i < p->queues; i++) {
		q[i] = words;
		q[i].wire = ring_make("wire", SLOTS, mine, i);
		for (unsigned int k = 0; k < STEP; k++) { /* only the first of them is used */
			in[i * STEP + k] = q[i].wire;
			out[i * STEP + k] = ring_make("wire", SLOTS, mine ^ 1u, i);
		}
		q[i].aside = ring_make("aside", ASIDE_SLOTS, mine, i);
		q[i].next_aside = p->queues > 1 ? ring_make("aside", ASIDE_SLOTS, mine, (uint16_t)((i + 1u) % p->queues)) : NULL;
		if (!q[i].wire || !out[i * STEP] || !q[i].aside || (p->queues > 1 && !q[i].next_aside))
			return -1;
	}
	snprintf(name, sizeof(name), "lane%u", mine);
	p->step = STEP;
	id = rte_eth_from_rings(name, in, p->queues * STEP, out, p->queues * STEP, SOCKET_ID_ANY);
	if (id < 0)
		return -1;
	snprintf(p->device, sizeof(p->device), "net_ring_%s", name);
	for (uint16_t i = 0; i < p->queues && (words.drop || words.late || words.cross || words.twice); i++)
		if (!(q[i].meddler = rte_eth_add_rx_callback((uint16_t)id, port_queue(p, i), meddle, &q[i])))
			return -1;
	return 0;
}

void rings_let_go(struct port *p)
{
	struct queue *q = queues[p - ports];

	for (uint16_t i = 0; i < p->queues; i++) {
		if (q[i].meddler) /* DPDK keeps it for the next port of this number */
			rte_eth_remove_rx_callback(p->id, port_queue(p, i), q[i].meddler);
		rte_pktmbuf_free(q[i].held);
		q[i].held = NULL;
	}
}

/* Frames that nobody took go back to their pools before these are freed. */
static void ring_empty(struct rte_ring *ring)
{
	void *frame;

	while (ring && !rte_ring_sc_dequeue(ring, &frame))
		rte_pktmbuf_free(frame);
}

void rings_unplug(struct port *p)
{
	for (unsigned int port = 0; port < PORTS; port++) /* the other port's queues hold buffers of this one */
		for (unsigned int i = 0; i < LANES; i++) {
			ring_empty(queues[port][i].wire);
			ring_empty(queues[port][i].aside);
		}
	memset(queues[p - ports], 0, sizeof(queues[0]));
}
