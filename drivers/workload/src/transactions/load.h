/* A load of transactions: what is asked of whom, and which connection opens when. */
#pragma once
#include <stdint.h>
#include <sys/socket.h>

enum { OBJECTS = 64, TURNS = 64 }; /* choice: as many are asked for by turns at most */

struct object {
    int64_t octets;
    const char *target;
};

struct turn { /* what a connection is for: objects `first` to `first` + `count` - 1, with TLS or without */
    int64_t first, count, encrypted;
};

struct load { /* `rate` transactions a second in phases, or `held` connections; times in nanoseconds */
    struct object objects[OBJECTS];
    struct turn turns[TURNS]; /* taken in their order, connection by connection */
    int64_t used, turned; /* of `objects`, of `turns` (0: each connection asks for all objects) */
    const char *host, *name, *version, *cipher, *group; /* name: of the certificate, NULL: no TLS */
    const char *tunnel; /* what a proxy is asked to connect to before TLS, NULL: nothing */
    struct sockaddr_storage address, plain_address; /* the second: of connections without TLS among others */
    socklen_t address_size;
    int64_t ramp_ns, sustain_ns, interval_ns, timeout_ns, late_ns, pause_ns;
    int64_t http2; /* 1: connections with TLS speak HTTP/2 */
    int64_t rate, per_connection, held, held_transactions, threads;
};

/* Read KEY=VALUE words. Ends the program where one is wrong. */
struct load load_of(int count, char **words);

/* Which object a connection asks for in its transaction `done` (0, 1, ...): all of them by turns. */
size_t load_object(const struct load *load, int64_t number, int64_t done);

/* Whether a connection is one with TLS. */
int load_encrypted(const struct load *load, int64_t number);

/* All connections of ramp up and sustain phase. */
int64_t load_connections(const struct load *load);

/* When connection `number` (0, 1, ...) is to open, after the begin of the ramp. */
int64_t load_due_ns(const struct load *load, int64_t number);
