/* SPDX-License-Identifier: Apache-2.0 */
/* What a port's own device, or the kernel at its interface, counts beside us; and the speed of a device's link. */
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <rte_ethdev.h>

#include "ports.h"

/* What the kernel's end of an AF_XDP socket did to frames on the way to or from the tester. */
static void count_socket(const struct port *p, json_t *out)
{
	struct xdp_statistics s = {0};
	socklen_t size = sizeof(s);

	if (!out || p->xdp_fd < 0 || getsockopt(p->xdp_fd, SOL_XDP, XDP_STATISTICS, &s, &size))
		return;
	json_object_set_new(out, "queue_rx_dropped",
			    json_integer((json_int_t)(s.rx_dropped + s.rx_ring_full + s.rx_fill_ring_empty_descs)));
	json_object_set_new(out, "queue_tx_refused", json_integer((json_int_t)s.tx_invalid_descs));
}

/* What the rings of a port's packet sockets had no room for. The interface counts these as received, DPDK 22.11 not at all. */
static void count_rings(struct port *p, json_t *out)
{
	if (!out || !p->rings)
		return;
	for (unsigned int i = 0; i < p->rings; i++) {
		struct tpacket_stats s = {0};
		socklen_t size = sizeof(s);

		if (getsockopt(p->ring_fds[i], SOL_PACKET, PACKET_STATISTICS, &s, &size))
			return;
		p->ring_dropped += s.tp_drops;
	}
	json_object_set_new(out, "queue_rx_dropped", json_integer((json_int_t)p->ring_dropped));
}

/* Of a port that no kernel sees: what DPDK's driver, or the device on the PCI bus, says that it sent and received. */
static json_t *device_counters(const struct port *p)
{
	struct rte_eth_stats s;

	if (!p->attached || !p->device_counts || rte_eth_stats_get(p->id, &s))
		return json_null();
	return json_pack("{s:I,s:I,s:I,s:I,s:I}", "rx_packets", (json_int_t)s.ipackets, "rx_errors",
			 (json_int_t)s.ierrors, "rx_dropped", (json_int_t)s.imissed, "rx_no_buffer",
			 (json_int_t)s.rx_nombuf, "tx_packets", (json_int_t)s.opackets);
}

uint32_t port_link_mbps(const struct port *p)
{
	struct rte_eth_link link = {0};

	if (!p->attached || !port_on_pci(p) || rte_eth_link_get_nowait(p->id, &link) || !link.link_status ||
	    link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN)
		return 0;
	return link.link_speed;
}

json_t *port_counters(struct port *p)
{
	json_t *out = NULL;
	char line[512];
	FILE *file;

	if (!p->interface[0])
		return device_counters(p);
	if (netns_enter(p))
		return json_null();
	file = fopen("/proc/thread-self/net/dev", "re");
	netns_leave(p);
	while (file && fgets(line, sizeof(line), file)) {
		long long n[16];
		char *colon = strchr(line, ':');
		char *start = line + strspn(line, " ");

		if (!colon || (size_t)(colon - start) != strlen(p->interface) ||
		    memcmp(start, p->interface, (size_t)(colon - start)) != 0)
			continue;
		if (sscanf(colon + 1, "%lld %lld %lld %lld %lld %lld %lld %lld %lld %lld %lld %lld", &n[0], &n[1],
			   &n[2], &n[3], &n[4], &n[5], &n[6], &n[7], &n[8], &n[9], &n[10], &n[11]) == 12)
			out = json_pack("{s:I,s:I,s:I,s:I,s:I,s:I}", "rx_packets", n[1], "rx_errors", n[2],
					"rx_dropped", n[3], "tx_packets", n[9], "tx_errors", n[10],
					"tx_dropped", n[11]);
	}
	if (file)
		fclose(file);
	count_socket(p, out);
	count_rings(p, out);
	return out ? out : json_null();
}
