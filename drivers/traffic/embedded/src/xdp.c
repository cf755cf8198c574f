/* SPDX-License-Identifier: Apache-2.0 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/ethernet.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <rte_byteorder.h>

#include "extra.h"
#include "neighbour.h"
#include "xdp.h"

#define PROBE_TRIES 200 /* of a millisecond: until the probe frame is in the interface's counters */
#define PROBE_OCTETS 60u
#define CONTROL_OCTETS 2048u
#define AT_ONCE 4096u /* choice: frames of a port; who reads them has a trial to end as well */
#define RECEIVE_OCTETS (4 << 20) /* of frames that passed, while nobody looks */

/* The programs, built by clang from xdp.bpf.c into this binary. */
__asm__(".pushsection .rodata\n"
	".balign 8\n"
	"xdp_object: .incbin \"" XDP_OBJECT "\"\n"
	"xdp_object_end:\n"
	".popsection\n");
extern const char xdp_object[], xdp_object_end[];

static struct bpf_object *object;
static struct xdp_shared *shared;
static int sender = -1, special_sender = -1;

struct xdp_shared *xdp_shared(void)
{
	return shared;
}

int xdp_sender(bool special)
{
	return special ? special_sender : sender;
}

bool xdp_open(void)
{
	return shared && ports[0].link > 0 && ports[1].link > 0;
}

void xdp_memory(unsigned int stream, struct counts **counts, uint64_t **window)
{
	*counts = &shared->receiving[1 - stream].counts;
	*window = shared->window[stream];
}

struct destinations *xdp_destinations(unsigned int stream)
{
	return &shared->to[stream];
}

static int quiet(enum libbpf_print_level level, const char *format, va_list arguments)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, format, arguments) : 0;
}

/* First line of a file, without its end; empty if it cannot be read. */
static void read_line(const char *path, char *text, int size)
{
	FILE *file = fopen(path, "re");

	text[0] = '\0';
	if (file) {
		if (fgets(text, size, file))
			text[strcspn(text, "\n")] = '\0';
		fclose(file);
	}
}

static int refuse_load(int error, struct failure *f)
{
	char lockdown[128];

	read_line("/sys/kernel/security/lockdown", lockdown, sizeof(lockdown));
	if (error == EPERM && (strstr(lockdown, "[integrity]") || strstr(lockdown, "[confidentiality]")))
		return failure_set(f, "xdp_lockdown", "the kernel is locked down: %s", lockdown);
	if (error == ENOMEM)
		return failure_set(f, "xdp_memory", "no memory for the programs' maps (%zu octets): %s",
				   sizeof(struct xdp_shared), strerror(error));
	if (error == EPERM)
		return failure_set(f, "xdp_permission", "the kernel lets this process load no program: %s",
				   strerror(error));
	return failure_set(f, "xdp_kernel", "the kernel refuses the programs: %s", strerror(error));
}

/*
 * Keep a sending program among those that the kernel calls directly, by attaching it to a loopback interface
 * that nobody uses. Without it the kernel enters and removes the program at each run, and waits for all CPUs
 * both times: about 16 ms before the first frame of a trial and 6 ms after the last. It is no more than speed,
 * so a kernel that refuses it is let be.
 */
static int keep_entered(int program, struct failure *f)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .flags = XDP_FLAGS_SKB_MODE);
	int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	bool back;

	if (home < 0 || unshare(CLONE_NEWNET)) {
		if (home >= 0)
			close(home);
		return 0;
	}
	/* Both descriptors stay open until the process ends; the namespace goes with them. */
	if (open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC) >= 0)
		bpf_link_create(program, (int)if_nametoindex("lo"), BPF_XDP, &options);
	back = !setns(home, CLONE_NEWNET);
	close(home);
	return back ? 0 : failure_set(f, "xdp_kernel", "the tester's network namespace is lost: %s", strerror(errno));
}

static int load(struct failure *f)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "bmwg_xdp");
	struct bpf_map *memory;
	char jit[16];

	read_line("/proc/sys/net/core/bpf_jit_enable", jit, sizeof(jit));
	if (!strcmp(jit, "0"))
		return failure_set(f, "xdp_jit", "net.core.bpf_jit_enable is 0: programs would be interpreted");
	libbpf_set_print(quiet);
	object = bpf_object__open_mem(xdp_object, (size_t)(xdp_object_end - xdp_object), &options);
	if (!object)
		return refuse_load(errno, f);
	if (bpf_object__load(object))
		return refuse_load(errno, f);
	memory = bpf_object__find_map_by_name(object, ".bss");
	if (!memory || bpf_map__value_size(memory) < sizeof(*shared))
		return failure_set(f, "xdp_kernel", "the programs' memory is not as this process knows it");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(memory), 0);
	if (shared == MAP_FAILED) {
		shared = NULL;
		return failure_set(f, "xdp_memory", "the programs' memory cannot be mapped: %s", strerror(errno));
	}
	sender = bpf_program__fd(bpf_object__find_program_by_name(object, "send"));
	special_sender = bpf_program__fd(bpf_object__find_program_by_name(object, "send_special"));
	return keep_entered(sender, f) || keep_entered(special_sender, f) ? -1 : 0;
}

static int ethtool(int fd, const char *interface, void *command)
{
	struct ifreq request = {.ifr_data = command};

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", interface);
	return ioctl(fd, SIOCETHTOOL, &request);
}

/* One queue only: with more of them several CPUs would count at once. */
static int check_queues(const struct port *p, int fd, struct failure *f)
{
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};

	if (ethtool(fd, p->interface, &channels))
		return 0; /* no such question: one queue */
	if (channels.rx_count + channels.combined_count > 1)
		return failure_set(f, "xdp_queues", "%s: %s has %u receive queues, expected one", p->name,
				   p->interface, channels.rx_count + channels.combined_count);
	return 0;
}

static int refuse_attach(const struct port *p, int error, struct failure *f)
{
	if (error == EBUSY || error == EEXIST)
		return failure_set(f, "xdp_foreign", "%s: %s has an XDP program of somebody else", p->name, p->interface);
	if (error == ERANGE || error == EINVAL)
		return failure_set(f, "xdp_mtu", "%s: %s takes no XDP program with its MTU: %s", p->name, p->interface,
				   strerror(error));
	if (error == EOPNOTSUPP || error == ENOTSUP)
		return failure_set(f, "xdp_native", "%s: the driver of %s has no XDP of its own", p->name, p->interface);
	return failure_set(f, "xdp_attach", "%s: %s takes no XDP program: %s", p->name, p->interface, strerror(error));
}

static int open_packets(struct port *p, struct failure *f)
{
	const struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = rte_cpu_to_be_16(ETH_P_ALL),
					    .sll_ifindex = (int)p->ifindex};
	const struct packet_mreq all = {.mr_ifindex = (int)p->ifindex, .mr_type = PACKET_MR_PROMISC};
	int octets = RECEIVE_OCTETS, one = 1;

	p->packets = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->packets < 0 || setsockopt(p->packets, SOL_SOCKET, SO_RCVBUFFORCE, &octets, sizeof(octets)) ||
	    setsockopt(p->packets, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) ||
	    setsockopt(p->packets, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one)) ||
	    setsockopt(p->packets, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)) ||
	    bind(p->packets, (const struct sockaddr *)&address, sizeof(address)))
		return failure_set(f, "device", "%s: packet socket on %s: %s", p->name, p->interface, strerror(errno));
	return 0;
}

static int plug_here(struct port *p, uint32_t number, struct failure *f)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .flags = XDP_FLAGS_DRV_MODE);
	static const char *const names[] = {"receive0", "receive1"};
	struct bpf_program *program = bpf_object__find_program_by_name(object, names[number]);
	int targets = bpf_object__find_map_fd_by_name(object, "ports");
	struct ifreq request;

	p->ifindex = if_nametoindex(p->interface);
	if (!p->ifindex)
		return failure_set(f, "device", "%s: no interface %s", p->name, p->interface);
	if (open_packets(p, f) || check_queues(p, p->packets, f))
		return -1;
	memset(&request, 0, sizeof(request));
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", p->interface);
	if (ioctl(p->packets, SIOCGIFHWADDR, &request))
		return failure_set(f, "device", "%s: no MAC address: %s", p->name, strerror(errno));
	memcpy(&p->mac, request.ifr_hwaddr.sa_data, sizeof(p->mac));
	p->link = bpf_link_create(bpf_program__fd(program), (int)p->ifindex, BPF_XDP, &options);
	if (p->link < 0)
		return refuse_attach(p, errno, f);
	if (bpf_map_update_elem(targets, &number, &p->ifindex, BPF_ANY))
		return failure_set(f, "xdp_native", "%s: frames cannot be redirected to %s: %s", p->name, p->interface,
				   strerror(errno));
	p->attached = true;
	return 0;
}

/* Run the sending program once over a live frame. */
static int send_one(void *frame, uint32_t octets, struct failure *f)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame, .data_size_in = octets, .repeat = 1,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES);
	struct utsname kernel;
	int error;

	if (!bpf_prog_test_run_opts(sender, &run))
		return 0;
	error = errno;
	uname(&kernel);
	return failure_set(f, "xdp_kernel", "Linux %s sends no live frames: %s", kernel.release, strerror(error));
}

int xdp_probe(struct failure *f)
{
	uint8_t frame[PROBE_OCTETS] = {0};
	int result = load(f);

	if (!result)
		result = send_one(frame, sizeof(frame), f); /* its clock has not begun: the frame is dropped */
	xdp_detach();
	return result;
}

/* Frames that left by an interface or were dropped on leaving, as its counters have it. */
static json_int_t departed(struct port *p)
{
	json_t *counters = port_counters(p);
	json_int_t frames = json_integer_value(json_object_get(counters, "tx_packets")) +
			    json_integer_value(json_object_get(counters, "tx_dropped"));

	json_decref(counters);
	return frames;
}

/*
 * One ARP probe for no address, as live frame: does the kernel send such frames, and does the interface take them? A veth
 * end does only while its peer has a device queue of its own.
 */
static int probe(struct port *p, uint32_t number, struct failure *f)
{
	uint8_t frame[PROBE_OCTETS] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, [12] = 8, 6, 0, 1, 8, 0, 6, 4, 0, 1};
	json_int_t before = departed(p);

	memcpy(frame + 6, &p->mac, sizeof(p->mac));
	memcpy(frame + 22, &p->mac, sizeof(p->mac));
	shared->sending.probe = number + 1u;
	if (send_one(frame, sizeof(frame), f))
		return -1;
	for (int try = 0; try < PROBE_TRIES; try++) {
		if (departed(p) > before)
			return 0;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return failure_set(f, "xdp_peer", "%s: %s takes no redirected frames", p->name, p->interface);
}

int xdp_attach(struct failure *f)
{
	int result = load(f);

	for (uint32_t i = 0; i < PAIR && !result; i++) {
		if (netns_enter(&ports[i]))
			return failure_set(f, "namespace", "%s: %s", ports[i].name, strerror(errno));
		result = plug_here(&ports[i], i, f);
		netns_leave(&ports[i]);
	}
	for (uint32_t i = 0; i < PAIR && !result; i++)
		result = probe(&ports[i], i, f);
	if (!result)
		shared->sending.probe = 0;
	return result;
}

void xdp_detach(void)
{
	for (unsigned int i = 0; i < PORTS; i++) {
		if (ports[i].link > 0)
			close(ports[i].link);
		if (ports[i].packets >= 0)
			close(ports[i].packets);
		ports[i].link = 0;
		ports[i].packets = -1;
	}
	if (shared)
		munmap(shared, sizeof(*shared));
	bpf_object__close(object);
	shared = NULL;
	object = NULL;
	sender = special_sender = -1;
}

/* The kernel takes a frame's tag off before a packet socket sees it, and tells it beside: 0 for none. */
static uint16_t tag_beside(struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		struct tpacket_auxdata beside;

		if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA)
			continue;
		memcpy(&beside, CMSG_DATA(c), sizeof(beside));
		if (beside.tp_status & TP_STATUS_VLAN_VALID)
			return beside.tp_vlan_tci;
	}
	return 0;
}

void xdp_input(struct port *p)
{
	uint8_t frame[CONTROL_OCTETS];
	uint8_t room[CMSG_SPACE(sizeof(struct tpacket_auxdata))] __attribute__((aligned(8)));
	const size_t addresses = 2u * RTE_ETHER_ADDR_LEN, tag = RTE_VLAN_HLEN;

	for (unsigned int taken = 0; taken < AT_ONCE; taken++) {
		/* Room for a tag after the addresses. */
		struct iovec parts[] = {{.iov_base = frame, .iov_len = addresses},
					{.iov_base = frame + addresses + tag, .iov_len = sizeof(frame) - addresses - tag}};
		struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2, .msg_control = room,
					 .msg_controllen = sizeof(room)};
		ssize_t got = recvmsg(p->packets, &message, 0);
		uint16_t type = rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN), tci;
		uint32_t length;

		if (got <= (ssize_t)addresses)
			return;
		length = (uint32_t)got;
		tci = rte_cpu_to_be_16(tag_beside(&message));
		if (tci) {
			memcpy(frame + addresses, &type, sizeof(type));
			memcpy(frame + addresses + sizeof(type), &tci, sizeof(tci));
			length += (uint32_t)tag;
		} else {
			memmove(frame + addresses, frame + addresses + tag, length - addresses);
		}
		if (!neighbour_input(p, frame, length))
			extras_input((unsigned int)(p - ports), frame, length);
	}
}
