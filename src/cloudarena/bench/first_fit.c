/* First-fit of VMs on machines of one size: arrivals in order, a binary heap of departures, and
   either a linear search or a tournament tree of free cores. Memory is in proportion to cores here,
   so that cores decide. Prints what was placed and the CPU seconds without reading the file.

   first_fit linear|indexed HOSTS CORES TICKS FILE, where FILE has rows of three int64: the tick of
   arrival, the lifetime in ticks, the cores. A VM that finds no host is lost. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct { int64_t time, seq; int32_t host, cores; } Event;

static Event *heap;
static int64_t size;

static int before(Event *a, Event *b) {
    return a->time != b->time ? a->time < b->time : a->seq < b->seq;
}

static void push(Event e) {
    int64_t k = size++;
    while (k > 0 && before(&e, &heap[(k - 1) / 2])) {
        heap[k] = heap[(k - 1) / 2];
        k = (k - 1) / 2;
    }
    heap[k] = e;
}

static Event pop(void) {
    Event first = heap[0], last = heap[--size];
    int64_t k = 0;
    for (;;) {
        int64_t c = 2 * k + 1;
        if (c >= size) break;
        if (c + 1 < size && before(&heap[c + 1], &heap[c])) c++;
        if (!before(&heap[c], &last)) break;
        heap[k] = heap[c];
        k = c;
    }
    heap[k] = last;
    return first;
}

int main(int argc, char **argv) {
    if (argc != 6) return 2;
    int indexed = strcmp(argv[1], "indexed") == 0;
    int64_t hosts = atoll(argv[2]), cores = atoll(argv[3]), ticks = atoll(argv[4]);
    FILE *file = fopen(argv[5], "rb");
    if (!file) return 2;
    fseek(file, 0, SEEK_END);
    int64_t vms = ftell(file) / 24;
    rewind(file);
    int64_t *rows = malloc(vms * 24 + 24);
    if (fread(rows, 24, vms, file) != (size_t)vms) return 2;
    fclose(file);

    clock_t begin = clock();
    heap = malloc((vms + 1) * sizeof(Event));
    int64_t leaves = 1;
    while (leaves < hosts) leaves *= 2;
    int64_t *tree = calloc(2 * leaves, sizeof(int64_t)), *left = tree + leaves;
    for (int64_t h = 0; h < hosts; h++) left[h] = cores;
    for (int64_t n = leaves - 1; n > 0; n--)
        tree[n] = tree[2 * n] > tree[2 * n + 1] ? tree[2 * n] : tree[2 * n + 1];
    int64_t placed = 0, failed = 0, departed = 0;
    for (int64_t v = 0; v < vms; v++) {
        int64_t now = rows[3 * v], life = rows[3 * v + 1], need = rows[3 * v + 2], host = -1;
        if (now >= ticks) break;
        while (size > 0 && heap[0].time <= now) {
            Event e = pop();
            left[e.host] += e.cores;
            departed++;
            if (indexed)
                for (int64_t n = (leaves + e.host) / 2; n > 0; n /= 2) {
                    int64_t m = tree[2 * n] > tree[2 * n + 1] ? tree[2 * n] : tree[2 * n + 1];
                    if (m == tree[n]) break;
                    tree[n] = m;
                }
        }
        if (indexed) {
            if (tree[1] >= need) {
                int64_t n = 1;
                while (n < leaves) n = tree[2 * n] >= need ? 2 * n : 2 * n + 1;
                host = n - leaves;
            }
        } else {
            for (int64_t h = 0; h < hosts; h++)
                if (left[h] >= need) { host = h; break; }
        }
        if (host < 0) { failed++; continue; }
        left[host] -= need;
        if (indexed)
            for (int64_t n = (leaves + host) / 2; n > 0; n /= 2) {
                int64_t m = tree[2 * n] > tree[2 * n + 1] ? tree[2 * n] : tree[2 * n + 1];
                if (m == tree[n]) break;
                tree[n] = m;
            }
        placed++;
        push((Event){now + life, v, (int32_t)host, (int32_t)need});
    }
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    printf("{\"placed\": %lld, \"failed\": %lld, \"departed\": %lld, \"s\": %.6f}\n",
           (long long)placed, (long long)failed, (long long)departed, seconds);
    return 0;
}
