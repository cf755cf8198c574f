/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bmwg-tester FD PARENT WATCH_CPUS [EAL arguments]: the embedded tester. FD is its end of the control channel, PARENT the
 * process that it dies with, WATCH_CPUS the CPUs to watch, {"sut": [...], "tester": [...]}. Each lcore is a lane, which serves both ports.
 * bmwg-tester probe-xdp: prints as a JSON line what the kernel lacks for ports of kind xdp; an empty object if nothing.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include "answer.h"
#include "clock.h"
#include "control.h"
#include "precedence.h"
#include "watchdog.h"
#include "xdp.h"

static int refuse(int fd, const char *what, const char *why)
{
	struct failure f;

	failure_set(&f, "start", "%s: %s", what, why);
	fprintf(stderr, "bmwg-tester: %s\n", f.text);
	answer(fd, 0, NULL, &f);
	return 3;
}

int main(int argc, char **argv)
{
	struct failure f;
	json_t *cpus;
	int fd, status;

	if (argc == 2 && !strcmp(argv[1], "probe-xdp")) {
		json_t *lacks = xdp_probe(&f) ? json_pack("{s:s,s:s}", "code", f.code, "text", f.text) : json_object();

		json_dumpf(lacks, stdout, JSON_COMPACT);
		return 0;
	}
	if (argc < 4) {
		fprintf(stderr, "usage: bmwg-tester FD PARENT WATCH_CPUS [EAL arguments]\n");
		return 2;
	}
	fd = atoi(argv[1]);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN); /* DPDK writes to a vhost-user socket whose other end may have gone */
	if (getppid() != atoi(argv[2]))
		return 0; /* the parent died before we could ask to be told */
	precedence_take();
	cpus = json_loads(argv[3], 0, NULL);
	argv[3] = argv[0];
	if (rte_eal_init(argc - 3, argv + 3) < 0)
		return refuse(fd, "DPDK's environment", rte_strerror(rte_errno));
	if (ports_start(&f))
		return refuse(fd, f.code, f.text);
	if (!json_is_array(json_object_get(cpus, "sut")) || watchdogs_start(json_object_get(cpus, "sut"), false) ||
	    watchdogs_start(json_object_get(cpus, "tester"), true))
		return refuse(fd, "watchdogs", "cannot be started");
	json_decref(cpus);
	clock_start();
	status = control_serve(fd);
	rte_eal_cleanup();
	return status;
}
