/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <linux/sockios.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <rte_dev.h>
#include <rte_ethdev.h>

#include "device.h"
#include "rings.h"
#include "xdp.h"

#define SEND_BUFFER_OCTETS (16 << 20) /* more than a full transmit ring of jumbo frames takes */
#define LINK_LOOK_S 0.1

struct port ports[PORTS] = {[0 ... PORTS - 1u] = {.netns = -1, .xdp_fd = -1, .packets = -1}};
unsigned int port_count;
static int home_netns = -1;

int failure_set(struct failure *f, const char *code, const char *format, ...)
{
	va_list arguments;

	f->code = code;
	va_start(arguments, format);
	vsnprintf(f->text, sizeof(f->text), format, arguments);
	va_end(arguments);
	return -1;
}

int ports_start(struct failure *f)
{
	home_netns = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	ports_detach();
	return home_netns < 0 ? failure_set(f, "namespace", "own network namespace: %s", strerror(errno)) : 0;
}

int netns_enter(const struct port *p)
{
	return p->netns < 0 ? 0 : setns(p->netns, CLONE_NEWNET);
}

void netns_leave(const struct port *p)
{
	if (p->netns >= 0 && setns(home_netns, CLONE_NEWNET))
		rte_exit(70, "cannot return to the own network namespace: %s\n", strerror(errno));
}

/*
 * Segmentation offload off at the sender's end of a veth pair: with it on, the peer's device queue (NAPI) is
 * bypassed and the DUT runs inside our send call. Returns the value before, -1 if the device has no such switch.
 */
static int segmentation_set(const char *interface, int value)
{
	struct ethtool_value command = {.cmd = ETHTOOL_GTSO};
	struct ifreq request;
	int before = -1;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	memset(&request, 0, sizeof(request));
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", interface);
	request.ifr_data = (char *)&command;
	if (!ioctl(fd, SIOCETHTOOL, &request)) {
		before = (int)command.data;
		command.cmd = ETHTOOL_STSO;
		command.data = (uint32_t)value;
		if (ioctl(fd, SIOCETHTOOL, &request))
			before = -1;
	}
	close(fd);
	return before;
}

static int parse_gateway(struct neighbour *n, int family, const json_t *text, struct failure *f)
{
	memset(n, 0, sizeof(*n));
	if (!json_is_string(text))
		return 0;
	n->wanted = true;
	if (inet_pton(family, json_string_value(text), n->address) != 1)
		return failure_set(f, "address", "gateway '%s' is no address", json_string_value(text));
	return 0;
}

static int parse_own(bool *has, uint8_t *octets, int family, const json_t *text, struct failure *f)
{
	*has = json_is_string(text);
	if (*has && inet_pton(family, json_string_value(text), octets) != 1)
		return failure_set(f, "address", "'%s' is no address", json_string_value(text));
	return 0;
}

bool port_on_pci(const struct port *p)
{
	return strchr(p->device, ':') != NULL;
}

static const char *bus_of(const struct port *p)
{
	return port_on_pci(p) ? "pci" : "vdev";
}

static int plug(struct port *p, const json_t *spec, struct failure *f)
{
	const char *devargs;
	json_int_t room, pool_frames, descriptors;
	int result;

	if (json_unpack((json_t *)spec, "{s:s,s:I,s:I,s:I}", "devargs", &devargs, "room", &room, "pool_frames",
			&pool_frames, "descriptors", &descriptors))
		return failure_set(f, "protocol", "port: devargs, room, pool_frames and descriptors are needed");
	if (netns_enter(p))
		return failure_set(f, "namespace", "%s: %s", p->name, strerror(errno));
	if (rings_wanted(devargs)) {
		result = rings_plug(p, devargs);
	} else {
		snprintf(p->device, sizeof(p->device), "%.*s", (int)strcspn(devargs, ","), devargs);
		result = rte_dev_probe(devargs);
	}
	p->plugged = result == 0;
	if (result || rte_eth_dev_get_port_by_name(p->device, &p->id)) {
		result = failure_set(f, "device", "%s: no DPDK device from '%s'", p->name, devargs);
	} else {
		p->attached = true;
		result = device_configure(p, (uint32_t)room, (uint32_t)pool_frames, (uint32_t)descriptors, f);
	}
	netns_leave(p);
	return result;
}

/* What a description says, before any device is touched. */
static int prepare(struct port *p, const json_t *spec, struct failure *f)
{
	const char *name;
	json_int_t mtu, vlan;
	const json_t *netns = json_object_get(spec, "netns");
	const json_t *peer = json_object_get(spec, "peer_mac");
	const json_t *interface = json_object_get(spec, "interface");

	if (json_unpack((json_t *)spec, "{s:s,s:I,s:I}", "name", &name, "mtu", &mtu, "vlan", &vlan))
		return failure_set(f, "protocol", "port: name, mtu and vlan are needed");
	p->vlan = (uint16_t)vlan;
	p->mtu = (uint16_t)mtu;
	snprintf(p->name, sizeof(p->name), "%s", name);
	if (json_is_string(interface))
		snprintf(p->interface, sizeof(p->interface), "%s", json_string_value(interface));
	if (parse_own(&p->has_ipv4, p->ipv4, AF_INET, json_object_get(spec, "ipv4"), f) ||
	    parse_own(&p->has_ipv6, p->ipv6, AF_INET6, json_object_get(spec, "ipv6"), f) ||
	    parse_gateway(&p->gateway_ipv4, AF_INET, json_object_get(spec, "gateway_ipv4"), f) ||
	    parse_gateway(&p->gateway_ipv6, AF_INET6, json_object_get(spec, "gateway_ipv6"), f))
		return -1;
	p->xdp = json_is_true(json_object_get(spec, "xdp"));
	p->device_counts = json_is_true(json_object_get(spec, "device_counts"));
	p->has_peer_mac = json_is_string(peer);
	if (p->has_peer_mac && rte_ether_unformat_addr(json_string_value(peer), &p->peer_mac))
		return failure_set(f, "address", "'%s' is no MAC address", json_string_value(peer));
	if (json_is_string(netns)) {
		p->netns = open(json_string_value(netns), O_RDONLY | O_CLOEXEC);
		if (p->netns < 0)
			return failure_set(f, "namespace", "%s: network namespace %s: %s", p->name,
					   json_string_value(netns), strerror(errno));
	}
	if (p->interface[0] && !p->xdp && !netns_enter(p)) {
		p->segmentation_before = segmentation_set(p->interface, 0);
		netns_leave(p);
	}
	return 0;
}

/* Whether a socket is that of a port's device. */
static bool in_use(int fd)
{
	for (unsigned int i = 0; i < PORTS; i++) {
		if (ports[i].xdp_fd == fd)
			return true;
		for (unsigned int k = 0; k < ports[i].rings; k++)
			if (ports[i].ring_fds[k] == fd)
				return true;
	}
	return false;
}

/*
 * DPDK 22.11 over libxdp 1.3 closes a net_af_xdp device without closing its socket (measured: the queue stays busy
 * for the next attach). Closes every AF_XDP socket but those that are in use.
 */
static void close_forgotten_sockets(void)
{
	for (int fd = 3; fd < 1024; fd++) {
		int domain = 0;
		socklen_t size = sizeof(domain);

		if (!getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) && domain == AF_XDP && !in_use(fd))
			close(fd);
	}
}

/* Whether a socket is bound to an interface for every protocol, as that of a net_af_packet device is. */
static bool receives_all(int fd)
{
	struct sockaddr_ll at = {0};
	socklen_t size = sizeof(at);

	return !getsockname(fd, (struct sockaddr *)&at, &size) && at.sll_ifindex > 0 &&
	       at.sll_protocol == htons(ETH_P_ALL);
}

/*
 * The kernel lets a socket have only so many octets on their way. What it comes with (212,992) is 92 frames of 1518 octets,
 * less than a device queue of 256: a slow DUT would then hold the sender back instead of losing frames.
 */
static int widen_send_buffers(struct port *p, struct failure *f)
{
	int octets = SEND_BUFFER_OCTETS;

	for (int fd = 3; fd < 1024; fd++) {
		int domain = 0;
		socklen_t size = sizeof(domain);

		if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) || (domain != AF_XDP && domain != AF_PACKET))
			continue;
		if (domain == AF_XDP && p->xdp_fd < 0 && !in_use(fd))
			p->xdp_fd = fd; /* those of the ports before are known */
		if (domain == AF_PACKET && p->rings < LANES && !in_use(fd) && receives_all(fd))
			p->ring_fds[p->rings++] = fd;
		if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &octets, sizeof(octets)))
			return failure_set(f, "device", "the send buffer cannot be widened: %s", strerror(errno));
	}
	return 0;
}

static void unplug(struct port *p)
{
	if (!p->plugged || netns_enter(p))
		return;
	if (p->attached) {
		rings_let_go(p);
		rte_eth_promiscuous_disable(p->id);
		rte_eth_dev_stop(p->id);
		rte_eth_dev_close(p->id);
	}
	rte_eal_hotplug_remove(bus_of(p), p->device);
	rings_unplug(p);
	netns_leave(p);
	for (uint16_t queue = 0; queue < p->queues; queue++) {
		rte_mempool_free(p->pools[queue]);
		p->pools[queue] = NULL;
	}
	p->plugged = p->attached = false;
}

/* The kernel gives an AF_XDP queue back some time after its socket was closed: look again a few times. */
static int plug_patiently(struct port *p, const json_t *spec, struct failure *f)
{
	int result = plug(p, spec, f);

	for (int again = 0; result && again < 5; again++) {
		unplug(p);
		close_forgotten_sockets();
		nanosleep(&(struct timespec){.tv_nsec = 40000000}, NULL);
		result = plug(p, spec, f);
	}
	return result;
}

/* A NIC that was just started negotiates its link anew: until then every frame would be lost, and nobody would see it. */
static int await_link(const struct port *p, double deadline_s, struct failure *f)
{
	struct rte_eth_link link = {0};

	for (double waited_s = 0; port_on_pci(p); waited_s += LINK_LOOK_S) {
		if (!rte_eth_link_get_nowait(p->id, &link) && link.link_status)
			break;
		if (waited_s > deadline_s)
			return failure_set(f, "no_link", "%s", p->name);
		nanosleep(&(struct timespec){.tv_nsec = (long)(LINK_LOOK_S * 1e9)}, NULL);
	}
	return 0;
}

int ports_attach(const json_t *specs, unsigned int lanes, double link_deadline_s, struct failure *f)
{
	int result = 0;
	bool mixed = false;

	ports_detach();
	port_count = (unsigned int)json_array_size(specs);
	for (unsigned int i = 0; i < port_count && !result; i++) {
		ports[i].queues = (uint16_t)lanes;
		ports[i].step = 1;
		result = prepare(&ports[i], json_array_get(specs, i), f);
	}
	for (unsigned int i = 1; i < port_count; i++)
		mixed |= ports[i].xdp != ports[0].xdp;
	if (!result && mixed)
		result = failure_set(f, "xdp_mixed", "%s and %s: one port kind is xdp and the other is not",
				     ports[0].name, ports[1].name);
	else if (!result && ports[0].xdp && port_count > PAIR)
		result = failure_set(f, "protocol", "attach: xdp has two ports");
	else if (!result && ports[0].xdp)
		return xdp_attach(f) ? (ports_detach(), -1) : 0;
	for (unsigned int i = 0; i < port_count && !result; i++)
		if (!(result = plug_patiently(&ports[i], json_array_get(specs, i), f)))
			result = widen_send_buffers(&ports[i], f);
	for (unsigned int i = 0; i < port_count && !result; i++)
		result = await_link(&ports[i], link_deadline_s, f);
	if (result)
		ports_detach();
	return result;
}

void ports_detach(void)
{
	xdp_detach();
	for (unsigned int i = PORTS; i-- > 0;) { /* a vhost-user client before the end that serves its socket */
		unplug(&ports[i]);
		ports[i].xdp_fd = -1;
		ports[i].rings = 0;
	}
	close_forgotten_sockets();
	for (unsigned int i = 0; i < PORTS; i++) {
		struct port *p = &ports[i];

		if (p->segmentation_before > 0 && !netns_enter(p)) {
			segmentation_set(p->interface, p->segmentation_before);
			netns_leave(p);
		}
		if (p->netns >= 0)
			close(p->netns);
		memset(p, 0, sizeof(*p));
		p->netns = p->xdp_fd = p->packets = -1;
		p->segmentation_before = -1;
	}
	port_count = 0;
}

bool port_send(struct port *p, const void *octets, uint16_t length)
{
	struct rte_mbuf *frame;
	char *data;
	uint16_t lane, queue;

	if (p->xdp)
		return send(p->packets, octets, length, 0) == length;
	lane = (uint16_t)rte_lcore_id();
	queue = port_queue(p, lane);
	frame = rte_pktmbuf_alloc(p->pools[lane]);
	if (!frame)
		return false;
	data = rte_pktmbuf_append(frame, length);
	if (data) {
		memcpy(data, octets, length);
		for (int attempt = 0; attempt < 100; attempt++)
			if (rte_eth_tx_burst(p->id, queue, &frame, 1) == 1)
				return true;
	}
	rte_pktmbuf_free(frame);
	return false;
}
