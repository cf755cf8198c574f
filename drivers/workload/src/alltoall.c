/*
 * MPI_Alltoall repeated for a time, and what it took, as one line of JSON on the first process' output.
 *
 * usage: alltoall BLOCK_OCTETS DURATION_MS
 *
 * Each process sends one block to each process, itself among them. Some operations are made first; how long
 * they took says how many are counted. These follow each other without anything between them, after a
 * barrier: the elapsed time is that of the process for which they took longest, by its own clock, so no two
 * clocks are compared. Times of single operations are those of the first process. The blocks of the last
 * operation are held against what was sent.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEAST = 10, MOST = 1000000, NAME = 40 };

struct place { /* where a process may run: of which kernel, on which of its CPUs */
    char kernel[NAME];
    cpu_set_t cpus;
};

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static unsigned char octet(int from, int to, int at) { return (unsigned char)(from * 31 + to * 7 + at); }

static int ascending(const void *one, const void *other) {
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

/* The least time that so many of a hundred did not exceed, of all in their order. */
static int64_t share_of(const int64_t *ordered, int64_t count, int64_t of_hundred) {
    return ordered[(count * of_hundred + 99) / 100 - 1];
}

static void *room(size_t octets) {
    void *found = malloc(octets);
    if (found == NULL) {
        fprintf(stderr, "alltoall: no memory for %zu octets\n", octets);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    return found;
}

static struct place here(void) {
    struct place mine;
    memset(&mine, 0, sizeof mine);
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file == NULL || fgets(mine.kernel, NAME, file) == NULL)
        MPI_Abort(MPI_COMM_WORLD, 4);
    fclose(file);
    sched_getaffinity(0, sizeof mine.cpus, &mine.cpus);
    return mine;
}

/* CPUs on which any of the processes may run; equal numbers of two kernels are two CPUs. */
static int cpus_of(const struct place *places, int processes) {
    int count = 0;
    for (int i = 0; i < processes; i++) {
        cpu_set_t all;
        int first = 1;
        for (int j = 0; j < i; j++)
            if (strcmp(places[i].kernel, places[j].kernel) == 0)
                first = 0;
        if (!first)
            continue;
        CPU_ZERO(&all);
        for (int j = i; j < processes; j++)
            if (strcmp(places[i].kernel, places[j].kernel) == 0)
                CPU_OR(&all, &all, &places[j].cpus);
        count += CPU_COUNT(&all);
    }
    return count;
}

/* A variable of the library as it is in force, "" when it does not tell. */
static void in_force(const char *name, char *text, size_t size) {
    bool is = false;
    int index, count, number = 0, scope, bind, verbosity, name_length = 0, about_length = 0;
    MPI_Datatype type;
    MPI_T_enum words;
    MPI_T_cvar_handle handle;
    text[0] = 0;
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS)
        return;
    if (MPI_T_cvar_get_info(index, NULL, &name_length, &verbosity, &type, &words, NULL, &about_length, &bind,
                            &scope) != MPI_SUCCESS)
        return;
    if (MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
        return;
    if (type == MPI_CHAR) {
        char *found = room((size_t)count + 1);
        memset(found, 0, (size_t)count + 1);
        if (MPI_T_cvar_read(handle, found) == MPI_SUCCESS)
            snprintf(text, size, "%s", found);
        free(found);
    } else if (type == MPI_INT && MPI_T_cvar_read(handle, &number) == MPI_SUCCESS) {
        snprintf(text, size, "%d", number);
    } else if (type == MPI_C_BOOL && MPI_T_cvar_read(handle, &is) == MPI_SUCCESS) {
        snprintf(text, size, "%d", is);
    }
    MPI_T_cvar_handle_free(&handle);
}

int main(int argc, char **argv) {
    int rank, processes, provided, length;
    char library[MPI_MAX_LIBRARY_VERSION_STRING], yields[16], btl[200];
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    int block = argc == 3 ? atoi(argv[1]) : 0;
    int64_t duration_ns = argc == 3 ? atoll(argv[2]) * 1000000 : 0;
    if (block < 1 || block > 1 << 24 || duration_ns < 1) {
        if (rank == 0)
            fprintf(stderr, "usage: alltoall BLOCK_OCTETS DURATION_MS\n");
        MPI_Finalize();
        return 2;
    }
    unsigned char *out = room((size_t)block * processes), *in = room((size_t)block * processes);
    for (int to = 0; to < processes; to++)
        for (int at = 0; at < block; at++)
            out[(size_t)to * block + at] = octet(rank, to, at);
    memset(in, 0, (size_t)block * processes);

    int64_t operations = LEAST, began = 0;
    for (int64_t tried = LEAST;; tried *= 2) { /* until a quarter of the time is over: connections are warm then */
        MPI_Barrier(MPI_COMM_WORLD);
        began = now_ns();
        for (int64_t i = 0; i < tried; i++)
            MPI_Alltoall(out, block, MPI_BYTE, in, block, MPI_BYTE, MPI_COMM_WORLD);
        int64_t took_ns = now_ns() - began + 1;
        MPI_Bcast(&took_ns, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
        operations = (int64_t)((double)tried * (double)duration_ns / (double)took_ns);
        operations = operations < LEAST ? LEAST : operations > MOST ? MOST : operations;
        if (took_ns * 4 >= duration_ns || tried * 2 > MOST)
            break;
    }

    int64_t *times = room((size_t)operations * sizeof *times);
    memset(in, 0, (size_t)block * processes);
    MPI_Barrier(MPI_COMM_WORLD);
    began = now_ns();
    int64_t last = began;
    for (int64_t i = 0; i < operations; i++) {
        MPI_Alltoall(out, block, MPI_BYTE, in, block, MPI_BYTE, MPI_COMM_WORLD);
        int64_t now = now_ns();
        times[i] = now - last;
        last = now;
    }
    int64_t mine_ns = last - began, elapsed_ns = 0, wrong = 0, all_wrong = 0;
    for (int from = 0; from < processes; from++)
        for (int at = 0; at < block; at++)
            if (in[(size_t)from * block + at] != octet(from, rank, at)) {
                wrong++;
                break;
            }
    struct place place = here(), *places = room(sizeof *places * (size_t)processes);
    MPI_Reduce(&mine_ns, &elapsed_ns, 1, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Gather(&place, sizeof place, MPI_BYTE, places, sizeof place, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Get_library_version(library, &length);
        library[strcspn(library, ",")] = 0;
        in_force("mpi_yield_when_idle", yields, sizeof yields);
        in_force("btl", btl, sizeof btl);
        qsort(times, (size_t)operations, sizeof *times, ascending);
        printf("{\"format\": \"bmwg-alltoall/1\", \"library\": \"%s\", \"processes\": %d, \"block_octets\": %d, "
               "\"operations\": %" PRId64 ", \"elapsed_ns\": %" PRId64 ", \"wrong_blocks\": %" PRId64
               ", \"cpus\": %d, \"mpi_yield_when_idle\": \"%s\", \"btl\": \"%s\", \"operation_ns\": {\"min\": %" PRId64
               ", \"p50\": %" PRId64 ", \"p90\": %" PRId64 ", \"p99\": %" PRId64 ", \"max\": %" PRId64 "}}\n",
               library, processes, block, operations, elapsed_ns, all_wrong, cpus_of(places, processes), yields, btl,
               times[0], share_of(times, operations, 50), share_of(times, operations, 90),
               share_of(times, operations, 99), times[operations - 1]);
        fflush(stdout);
    }
    free(places);
    free(times);
    free(in);
    free(out);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
