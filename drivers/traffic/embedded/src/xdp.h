/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports of kind xdp: programs inside the kernel send and account for frames (xdp.bpf.c). This process owns them, their
 * maps and their links; nothing is pinned, so all of it ends with the process.
 */
#ifndef BMWG_XDP_H
#define BMWG_XDP_H

#include "result.h"
#include "xdp_layout.h"

struct xdp_order {
	uint64_t first; /* frames at `load_fps`; the others follow at `then_load_fps` */
	double load_fps, then_load_fps, late_s, quiet_s, limit_s;
	uint32_t burst_limit, frame_octets; /* the largest, FCS included */
	uint64_t burst_frames;		    /* 0: no bursts that repeat; else `load_fps` is the mean over them */
	double burst_fps;		    /* within a burst */
};

/* Whether this kernel takes the programs and runs live frames; touches no interface. 0 or -1 with `f` set. */
int xdp_probe(struct failure *f);
/* Load the programs and attach them to both ports, natively and never in place of another's; 0 or -1 with `f` set. */
int xdp_attach(struct failure *f);
void xdp_detach(void);
/* Whether the ports are of this kind and attached. */
bool xdp_open(void);
/* What process and programs share, NULL when not attached; and the program that sends. */
struct xdp_shared *xdp_shared(void);
int xdp_sender(void);
/* Where the programs count what arrives of a stream. */
void xdp_memory(unsigned int stream, struct counts **counts, uint64_t **window);
/* Where the frames of a stream go, as the sending program reads it. */
struct destinations *xdp_destinations(unsigned int stream);
/* What the programs let pass: ARP and ND are answered, answers to frames beside the stream are counted. */
void xdp_input(struct port *p);
/*
 * Send and drain. `pace` tells what of its own clock is the start. Counts are then in `t` and `record`; times in
 * cycles of that clock.
 */
int xdp_run(struct trial *t, const struct xdp_order *o, const struct pace *pace, int control_fd, double hz,
	    struct loop_record *record, struct failure *f);

#endif
