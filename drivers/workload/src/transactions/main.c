/*
 * usage: transactions KEY=VALUE...   (the keys are those of `load.c`; with TLS the authority's PEM on stdin)
 *
 * Offers a load by so many threads and prints one line of JSON: what all of them counted.
 */
#include "client.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { FILES = 1 << 20 };

/* As many as root may have; else as many as it was given. */
static void allow_files(void) {
    struct rlimit files = {.rlim_cur = FILES, .rlim_max = FILES};
    if (setrlimit(RLIMIT_NOFILE, &files) == 0) return;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max < FILES ? files.rlim_max : FILES;
    setrlimit(RLIMIT_NOFILE, &files);
}

int main(int count, char **words) {
    load = load_of(count - 1, words + 1);
    allow_files();
    signal(SIGPIPE, SIG_IGN);
    if (load.name) context = tls_context(&load);
    for (int64_t at = 0; at < load.used; at++) {
        int octets = asprintf(&requests[at].text, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: bmwg\r\nAccept: */*\r\n\r\n",
                              load.objects[at].target, load.host);
        if (octets < 0) return 1;
        requests[at].octets = (size_t)octets;
    }
    if (load.tunnel) {
        int octets = asprintf(&tunnel.text, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: bmwg\r\n\r\n", load.tunnel, load.tunnel);
        if (octets < 0) return 1;
        tunnel.octets = (size_t)octets;
    }
    still_opening = load.threads;
    size_t threads = (size_t)load.threads;
    struct share *shares = calloc(threads, sizeof *shares);
    pthread_t *others = calloc(threads, sizeof *others);
    if (shares == NULL || others == NULL) return 1;
    int64_t began_ns = now_ns();
    for (size_t at = 0; at < threads; at++) shares[at] = (struct share){.number = (int64_t)at, .began_ns = began_ns};
    for (size_t at = 1; at < threads; at++) {
        if (pthread_create(&others[at], NULL, offer, &shares[at]) == 0) continue;
        fputs("no further thread can be started\n", stderr);
        return 1;
    }
    offer(&shares[0]);
    for (size_t at = 1; at < threads; at++) {
        pthread_join(others[at], NULL);
        counts_add(&shares[0].counts, &shares[at].counts);
        phase_add(&shares[0].phase, &shares[at].phase);
    }
    told(&load, &shares[0].counts, &shares[0].phase, now_ns() - began_ns);
    return 0;
}
