/* SPDX-License-Identifier: Apache-2.0 */
/* Ports: any DPDK device, plugged in and out at run time, each in a network namespace of its own if need be. */
#ifndef BMWG_PORTS_H
#define BMWG_PORTS_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#define PORTS 8u /* at most; a trial without a pattern goes between the first two */
#define PAIR 2u
#define LANES 64u /* loops beside each other, each with a queue of its own at every port */
#define BURST_LIMIT 64u
#define RSS_KEY_OCTETS 64u
#define RSS_ENTRIES 512u

struct neighbour {
	bool wanted;
	bool known;
	uint8_t address[16];
	struct rte_ether_addr mac;
};

/* Which queue a device puts a frame into: entry `hash % entries` of its table (receive side scaling). */
struct rss {
	uint8_t key[RSS_KEY_OCTETS];
	uint8_t key_octets; /* 0: the device has none, or does not tell it */
	uint16_t table[RSS_ENTRIES];
	uint16_t entries;
	bool ipv4, ipv6; /* whether UDP ports count in the hash */
};

struct port {
	bool plugged;	/* the bus has the device */
	bool attached;	/* and it is an Ethernet port, `id` */
	char name[64];
	char device[128]; /* the name that the bus knows it by */
	char interface[IFNAMSIZ]; /* empty: no netdev behind it */
	int netns;	  /* -1: stay in ours */
	uint16_t id;
	uint16_t vlan;	  /* tag of ARP and ND that we originate; 0: none */
	uint16_t mtu;	  /* largest that interface and device carry */
	uint16_t queues; /* to send and to receive, one for each lane */
	uint16_t step;	 /* from one lane's queue to the next one's */
	struct rte_mempool *pools[LANES]; /* of each queue */
	struct rte_ether_addr mac;
	bool has_ipv4, has_ipv6;
	uint8_t ipv4[4], ipv6[16];
	struct neighbour gateway_ipv4, gateway_ipv6;
	bool has_peer_mac;
	struct rte_ether_addr peer_mac;
	bool xdp;	/* programs inside the kernel send and receive: no device of DPDK, `packets` for the rest */
	int packets;	/* packet socket of an XDP port: what its program lets pass, and ARP and ND of our own */
	unsigned int ifindex;
	int link; /* that holds the program at the interface; 0: none */
	int xdp_fd; /* the AF_XDP socket of a net_af_xdp device, else -1 */
	int ring_fds[LANES]; /* the packet sockets of a net_af_packet device, one for each queue */
	unsigned int rings;  /* how many of them */
	uint64_t ring_dropped; /* by these sockets, whose own counts begin anew with each look */
	int segmentation_before; /* ETHTOOL_GTSO before we turned it off; -1: not touched */
	bool device_counts; /* no interface: its counters are those of DPDK's driver */
	struct rss rss;
};

struct failure {
	const char *code;
	char text[256];
};

extern struct port ports[PORTS];
extern unsigned int port_count; /* of them, attached together */

int failure_set(struct failure *f, const char *code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

int ports_start(struct failure *f);
/*
 * Read the port descriptions, two at least, take the interfaces' segmentation offload off, then plug, configure and start
 * them; on failure nothing is left. The offload is handled for all ports at once: a veth end with an XDP program hides the
 * switch of its peer. The link of a PCI device is waited for. Each port gets `lanes` queues.
 */
int ports_attach(const json_t *specs, unsigned int lanes, double link_deadline_s, struct failure *f);
void ports_detach(void);
/* Counters of the interface, or of a device that no kernel sees, as {"rx_packets": n, ...}; null of others. */
json_t *port_counters(struct port *p);
/* Whether a port is a device on the PCI bus. */
bool port_on_pci(const struct port *p);
/* Speed of a PCI device's link, Mbit/s, as its driver tells it; 0: down, not known, or another kind of port. */
uint32_t port_link_mbps(const struct port *p);
/* Into and out of a port's network namespace; a port of our own has none to go to. */
int netns_enter(const struct port *p);
void netns_leave(const struct port *p);
static inline uint16_t port_queue(const struct port *p, uint16_t lane)
{
	return (uint16_t)(lane * p->step);
}
/* One frame of our own making (ARP, ND), now, by the queue of the lane that calls. */
bool port_send(struct port *p, const void *octets, uint16_t length);

#endif
