/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <rte_ethdev.h>
#include <rte_version.h>

#include "answer.h"
#include "clock.h"
#include "control.h"
#include "frames.h"
#include "neighbour.h"
#include "rss.h"
#include "trial.h"

#define LINE_LIMIT 262144u /* an order that names every source port has 200,000 octets */
#define IDLE_POLL_MS 2

static char line[LINE_LIMIT];
static size_t filled;

static json_t *describe_port(const struct port *p)
{
	char mac[RTE_ETHER_ADDR_FMT_SIZE], gateway4[RTE_ETHER_ADDR_FMT_SIZE] = "",
					   gateway6[RTE_ETHER_ADDR_FMT_SIZE] = "";

	rte_ether_format_addr(mac, sizeof(mac), &p->mac);
	if (p->gateway_ipv4.known)
		rte_ether_format_addr(gateway4, sizeof(gateway4), &p->gateway_ipv4.mac);
	if (p->gateway_ipv6.known)
		rte_ether_format_addr(gateway6, sizeof(gateway6), &p->gateway_ipv6.mac);
	return json_pack("{s:s,s:s,s:s,s:s,s:i,s:I,s:o}", "name", p->name, "mac", mac, "gateway_ipv4_mac", gateway4,
			 "gateway_ipv6_mac", gateway6, "mtu", (int)p->mtu, "link_mbps",
			 (json_int_t)port_link_mbps(p), "rss", rss_json(p));
}

static json_t *do_attach(const json_t *arguments, struct failure *f)
{
	const json_t *list = json_object_get(arguments, "ports");
	json_int_t lanes = json_integer_value(json_object_get(arguments, "lanes"));
	json_t *out;

	if (json_array_size(list) < PAIR || json_array_size(list) > PORTS) {
		failure_set(f, "protocol", "attach: two to %u ports are needed", PORTS);
		return NULL;
	}
	if (lanes < 1 || lanes > (json_int_t)LANES) {
		failure_set(f, "protocol", "attach: 1 to %u lanes", LANES);
		return NULL;
	}
	if (ports_attach(list, (unsigned int)lanes, json_number_value(json_object_get(arguments, "link_deadline_s")), f))
		return NULL;
	out = json_array();
	for (unsigned int i = 0; i < port_count; i++)
		json_array_append_new(out, describe_port(&ports[i]));
	return out;
}

/* Ask every 100 ms until all gateways are known or the deadline passes. */
static json_t *do_resolve(const json_t *arguments, struct failure *f)
{
	double deadline_s = json_number_value(json_object_get(arguments, "deadline_s"));
	uint64_t start = rte_rdtsc(), asked = 0, step = (uint64_t)(clock_hz() / 10.0);
	json_t *out;

	for (;;) {
		uint64_t now = rte_rdtsc();
		bool known = true;

		for (unsigned int i = 0; i < port_count; i++)
			known &= neighbours_known(&ports[i]);
		if (known || now - start > (uint64_t)(deadline_s * clock_hz()))
			break;
		if (!asked || now - asked > step) {
			asked = now;
			for (unsigned int i = 0; i < port_count; i++)
				if (ports[i].attached)
					neighbour_ask(&ports[i]);
		}
		trial_idle_poll();
		nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
	}
	for (unsigned int i = 0; i < port_count; i++)
		if (!neighbours_known(&ports[i])) {
			bool ipv4 = ports[i].gateway_ipv4.wanted && !ports[i].gateway_ipv4.known;

			failure_set(f, "neighbour", "%s %s", ports[i].name, ipv4 ? "ipv4" : "ipv6");
			return NULL;
		}
	out = json_array();
	for (unsigned int i = 0; i < port_count; i++)
		json_array_append_new(out, describe_port(&ports[i]));
	return out;
}

/* The smallest IPv4 test frame as it is built, addresses zero, and where the signature stands (rfc2544-8). */
static json_t *test_frame(void)
{
	static struct frame_template t;
	const struct frame_plan plan = {.format = FORMAT_IPV4_UDP, .frame_octets = 64, .flows = 1};
	json_t *octets = json_array();

	frame_template_fill(&t, &plan);
	for (uint32_t i = 0; i < t.length; i++)
		json_array_append_new(octets, json_integer(t.octets[i]));
	return json_pack("{s:o,s:[i,i]}", "octets", octets, "signature", (int)t.signature_offset,
			 (int)sizeof(struct signature));
}

static json_t *do_hello(void)
{
	return json_pack("{s:s,s:f,s:i,s:o}", "dpdk", rte_version(), "tsc_hz", clock_hz(), "protocol", 1, "test_frame",
			 test_frame());
}

static json_t *dispatch(const char *command, const json_t *arguments, int fd, struct failure *f)
{
	if (!strcmp(command, "hello"))
		return do_hello();
	if (!strcmp(command, "attach"))
		return do_attach(arguments, f);
	if (!strcmp(command, "resolve"))
		return do_resolve(arguments, f);
	if (!strcmp(command, "trial"))
		return trial_run(arguments, fd, f);
	if (!strcmp(command, "detach")) {
		ports_detach();
		return json_object();
	}
	failure_set(f, "protocol", "unknown command '%.40s'", command);
	return NULL;
}

static bool serve_line(char *text, int fd)
{
	struct failure f = {"internal", "no reason was given"};
	json_error_t error;
	json_t *request = json_loads(text, 0, &error);
	const char *command = json_string_value(json_object_get(request, "command"));
	json_int_t id = json_integer_value(json_object_get(request, "id"));
	json_t *result = NULL;
	bool alive;

	if (!command)
		failure_set(&f, "protocol", "no command in the line: %.100s", error.text);
	else
		result = dispatch(command, json_object_get(request, "arguments"), fd, &f);
	alive = answer(fd, id, result, &f);
	json_decref(request);
	return alive;
}

/* What has come in, line by line. False: the channel is closed or a line is too long. */
static bool serve_input(int fd)
{
	ssize_t got = recv(fd, line + filled, sizeof(line) - filled - 1u, MSG_DONTWAIT);
	char *end;

	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	if (got == 0)
		return false;
	filled += (size_t)got;
	line[filled] = '\0';
	while ((end = memchr(line, '\n', filled))) {
		size_t used = (size_t)(end - line) + 1u;

		*end = '\0';
		if (!serve_line(line, fd))
			return false;
		memmove(line, line + used, filled - used);
		filled -= used;
	}
	return filled + 1u < sizeof(line);
}

int control_serve(int fd)
{
	for (;;) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		bool idle_work = port_count > 0;

		if (poll(&wait, 1, idle_work ? IDLE_POLL_MS : -1) < 0 && errno != EINTR)
			break;
		if (wait.revents && !serve_input(fd))
			break;
		trial_idle_poll();
	}
	ports_detach();
	return 0;
}
