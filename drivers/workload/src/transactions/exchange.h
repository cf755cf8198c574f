/* A connection and what it exchanges: handshake, requests, answers, its end. Each thread has its own of all this. */
#pragma once
#include "client.h"
#include "answer.h"
#include "h2.h"
#include "queue.h"

#include <stdbool.h>

enum state { CONNECTING, TUNNELLING, SHAKING, ASKING };

struct connection {
    struct link link; /* in `waiting` or `pausing`; the first member */
    struct connection *free;
    int64_t number, asked_ns, first_ns, done;
    int64_t left; /* octets of the body that are still to come; -1 before its length is known */
    SSL *tls;
    struct h2 *h2; /* NULL: HTTP/1.1 */
    struct head head;
    int socket;
    uint32_t interest;
    enum state state;
    bool counted, established, asks;
};

extern _Thread_local struct counts counts;
extern _Thread_local struct phase phase;
/* By when each has to have its answer; held ones, by when each asks again; held ones that have asked for all. */
extern _Thread_local struct queue waiting, pausing, resting;
extern _Thread_local struct connection *free_ones;
extern _Thread_local size_t standing, opening;
extern _Thread_local int polled;

/* The name of an error number. */
const char *word_of(int error);

/* End a connection, count why it failed, and by which error. */
void end(struct connection *one);
void fail(struct connection *one, const char *why);
void fail_by(struct connection *one, int error);

/* Have epoll tell of these events of a connection. */
void look_for(struct connection *one, uint32_t interest);

/* Ask a proxy for a tunnel; take its answer, and say whether TLS may begin in it. */
void ask_for_tunnel(struct connection *one);
bool tunnelled(struct connection *one);

/* Ask for the next object; take what came; go on with a handshake. */
void ask(struct connection *one);
void ask_next(struct connection *one, int64_t now);
void receive(struct connection *one);
void shake(struct connection *one);
