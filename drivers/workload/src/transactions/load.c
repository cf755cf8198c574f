#include "load.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void refuse(const char *word) {
    fprintf(stderr, "no load comes of %s\n", word);
    exit(2);
}

static int64_t number_of(const char *word, const char *value) {
    char *end;
    long long number = strtoll(value, &end, 10);
    if (*value == 0 || *end != 0 || number < 0) refuse(word);
    return number;
}

static void give_address(struct load *load, struct sockaddr_storage *to, const char *word, const char *value, int64_t port) {
    struct sockaddr_in *four = (struct sockaddr_in *)to;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)to;
    if (inet_pton(AF_INET, value, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)port);
        load->address_size = sizeof *four;
    } else if (memset(six, 0, sizeof *six), inet_pton(AF_INET6, value, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons((uint16_t)port);
        load->address_size = sizeof *six;
    } else {
        refuse(word);
    }
}

/* OCTETS TARGET */
static void give_object(struct load *load, const char *word, char *value) {
    char *target = strchr(value, ' ');
    if (target == NULL || load->used == OBJECTS) refuse(word);
    *target++ = 0;
    load->objects[load->used++] = (struct object){.octets = number_of(word, value), .target = target};
}

/* FIRST COUNT ENCRYPTED */
static void give_turn(struct load *load, const char *word, const char *value) {
    struct turn turn;
    char more;
    if (load->turned == TURNS ||
        sscanf(value, "%" SCNd64 " %" SCNd64 " %" SCNd64 "%c", &turn.first, &turn.count, &turn.encrypted, &more) != 3 ||
        turn.first < 0 || turn.count < 1 || turn.first > OBJECTS || turn.count > OBJECTS || turn.encrypted < 0 || turn.encrypted > 1)
        refuse(word);
    load->turns[load->turned++] = turn;
}

struct load load_of(int count, char **words) {
    static const struct {
        const char *name;
        size_t at;
    } numbers[] = {
        {"ramp_ns", offsetof(struct load, ramp_ns)},
        {"sustain_ns", offsetof(struct load, sustain_ns)},
        {"interval_ns", offsetof(struct load, interval_ns)},
        {"timeout_ns", offsetof(struct load, timeout_ns)},
        {"late_ns", offsetof(struct load, late_ns)},
        {"pause_ns", offsetof(struct load, pause_ns)},
        {"rate", offsetof(struct load, rate)},
        {"per_connection", offsetof(struct load, per_connection)},
        {"held", offsetof(struct load, held)},
        {"held_transactions", offsetof(struct load, held_transactions)},
        {"threads", offsetof(struct load, threads)},
        {"http2", offsetof(struct load, http2)},
    }, texts[] = {
        {"host", offsetof(struct load, host)},
        {"name", offsetof(struct load, name)},
        {"version", offsetof(struct load, version)},
        {"cipher", offsetof(struct load, cipher)},
        {"group", offsetof(struct load, group)},
        {"tunnel", offsetof(struct load, tunnel)},
    };
    enum { NUMBERS = sizeof numbers / sizeof *numbers, TEXTS = sizeof texts / sizeof *texts };
    struct load load = {0};
    const char *address = "";
    int64_t port = 0, plain_port = 0;
    for (int at = 0; at < count; at++) {
        char *value = strchr(words[at], '=');
        if (value == NULL) refuse(words[at]);
        size_t length = (size_t)(value++ - words[at]), one = 0;
#define NAMED(other) (strlen(other) == length && strncmp(words[at], other, length) == 0)
        while (one < NUMBERS && !NAMED(numbers[one].name)) one++;
        if (one < NUMBERS) {
            *(int64_t *)((char *)&load + numbers[one].at) = number_of(words[at], value);
            continue;
        }
        for (one = 0; one < TEXTS && !NAMED(texts[one].name);) one++;
        if (one < TEXTS) *(const char **)((char *)&load + texts[one].at) = value;
        else if (NAMED("address")) address = value;
        else if (NAMED("object")) give_object(&load, words[at], value);
        else if (NAMED("turn")) give_turn(&load, words[at], value);
        else if (NAMED("port")) port = number_of(words[at], value);
        else if (NAMED("plain_port")) plain_port = number_of(words[at], value);
        else refuse(words[at]);
    }
    give_address(&load, &load.address, "its address", address, port);
    give_address(&load, &load.plain_address, "its address", address, plain_port);
    for (int64_t at = 0; at < load.turned; at++) {
        const struct turn *turn = &load.turns[at];
        if (turn->first + turn->count > load.used || (turn->encrypted ? !load.name : load.name && !plain_port)) refuse("a turn");
    }
    if (!load.used || !load.host || !load.interval_ns || load.sustain_ns < load.interval_ns ||
        !load.rate == !load.held || !load.per_connection || !load.threads || (load.http2 && !load.name) || (load.tunnel && !load.name) || (load.name && (!load.version || !load.cipher || !load.group)))
        refuse("these words");
    return load;
}

size_t load_object(const struct load *load, int64_t number, int64_t done) {
    int64_t each = load->held ? load->held_transactions : load->per_connection;
    if (!load->turned) return (size_t)((number * each + done) % load->used);
    const struct turn *turn = &load->turns[number % load->turned];
    return (size_t)(turn->first + (number / load->turned * each + done) % turn->count);
}

int load_encrypted(const struct load *load, int64_t number) {
    return load->turned ? (int)load->turns[number % load->turned].encrypted : load->name != NULL;
}

static double by_second(const struct load *load) { return (double)load->rate / (double)load->per_connection; }

int64_t load_connections(const struct load *load) {
    if (load->held) return load->held;
    int64_t all = llround(by_second(load) * ((double)load->ramp_ns / 2e9 + (double)load->sustain_ns / 1e9));
    return all ? all : 1;
}

int64_t load_due_ns(const struct load *load, int64_t number) {
    /* choice: held ones stand in the last quarter of the ramp, and no more are opened */
    if (load->held) return load->ramp_ns * 3 / 4 * number / load->held;
    double of_ramp = by_second(load) * (double)load->ramp_ns / 2e9;
    if ((double)number < of_ramp)
        return llround(sqrt(2 * (double)number * ((double)load->ramp_ns / 1e9) / by_second(load)) * 1e9);
    return load->ramp_ns + llround(((double)number - of_ramp) / by_second(load) * 1e9);
}
