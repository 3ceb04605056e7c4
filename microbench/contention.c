/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that share lines at full speed, in whatever order the machine lets them.
 *
 * write-volume  each thread stores at random: with --sharing percent to one shared line, of which
 *               --false percent to a byte of its own there, else to a line of its own (after the
 *               benchmark of Sasongko et al., ComDetective, SC 2019)
 * reduction     each thread adds to a counter of its own; --padding bytes from counter to counter
 * queue         half of the threads put items into a ring that a mutex protects, half take them
 * barrier       each thread stores to its lines, all meet at a barrier, each loads its neighbour's
 *
 * The transfers of the last are known exactly, those of the others within bounds.
 */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "common/communication_truth.h"
#include "common/options.h"
#include "common/random.h"
#include "common/timing.h"

static const char *const pattern_names[] = {"write-volume", "reduction", "queue", "barrier"};
enum pattern { WRITE_VOLUME, REDUCTION, QUEUE, BARRIER };
static enum pattern pattern;

static const char *pattern_name = "write-volume";
static uint64_t sharing = 50, false_share, padding = 8, lines = 16, seed = 1;
static struct run_options run_options = {.threads = 2};

enum { DRAWS = 1000, ADDITIONS = 1000, RING = 64 }; /* of an iteration; slots of the queue */

struct mixed_cell {
    uint8_t common;
    uint8_t own[63];
};

struct item {
    uint64_t value;
    uint64_t number;
    uint64_t rest[6];
};

struct queue {
    pthread_mutex_t mutex;
    uint64_t head, tail, open_producers; /* under the mutex; items tail .. head-1 are in the ring */
};

/* A thread's alone while it runs. */
struct own_data {
    _Alignas(ARRAY_ALIGNMENT) uint64_t stores_common, stores_own, sum, wrong;
    uint8_t cell;
};

static struct own_data own_data[THREADS_MAX];
static struct mixed_cell *shared_cell; /* allocated before the threads start, as are the others */
static uint64_t *counters, *halo;
static struct queue *queue;
static struct item *ring;
static struct {
    _Alignas(ARRAY_ALIGNMENT) uint64_t iteration; /* of barrier: the running one; 0: leave */
} go;
static pthread_barrier_t barrier;

__attribute__((noinline)) static void write_volume(size_t thread, uint64_t *state)
{
    struct own_data *own = &own_data[thread];
    size_t byte = thread % sizeof shared_cell->own;
    uint64_t common = 0, own_byte = 0;
    for (int i = 0; i < DRAWS; i++) {
        if (random_below(state, 100) >= sharing) {
            __atomic_store_n(&own->cell, 1, __ATOMIC_RELAXED);
        } else if (random_below(state, 100) < false_share) {
            __atomic_store_n(&shared_cell->own[byte], 1, __ATOMIC_RELAXED);
            own_byte++;
        } else {
            __atomic_store_n(&shared_cell->common, 1, __ATOMIC_RELAXED);
            common++;
        }
    }
    own->stores_common += common;
    own->stores_own += own_byte;
}

__attribute__((noinline)) static void add_to_counter(uint64_t *counter)
{
    for (int i = 0; i < ADDITIONS; i++)
        __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static size_t producers(void)
{
    return (run_options.threads + 1) / 2;
}

/* Takes or puts one item, or finds that there is none or no room. */
__attribute__((noinline)) static bool put_item(uint64_t value)
{
    pthread_mutex_lock(&queue->mutex);
    bool room = queue->head - queue->tail < RING;
    if (room) {
        struct item *slot = &ring[queue->head % RING];
        slot->value = value;
        slot->number = queue->head++;
    }
    pthread_mutex_unlock(&queue->mutex);
    return room;
}

enum taking { TAKEN, EMPTY, CLOSED };
__attribute__((noinline)) static enum taking take_item(struct own_data *own)
{
    enum taking result = TAKEN;
    pthread_mutex_lock(&queue->mutex);
    if (queue->head == queue->tail) {
        result = queue->open_producers > 0 ? EMPTY : CLOSED;
    } else {
        const struct item *slot = &ring[queue->tail % RING];
        own->sum += slot->value;
        own->wrong += slot->number != queue->tail++;
    }
    pthread_mutex_unlock(&queue->mutex);
    return result;
}

static void use_queue(size_t thread, struct run *run)
{
    if (thread < producers()) {
        while (run_continues(run))
            while (!put_item(run->iteration))
                sched_yield();
        pthread_mutex_lock(&queue->mutex);
        queue->open_producers--;
        pthread_mutex_unlock(&queue->mutex);
        return;
    }
    for (enum taking taking; (taking = take_item(&own_data[thread])) != CLOSED;) {
        if (taking == TAKEN)
            run->iteration++;
        else
            sched_yield();
    }
    run->iteration++;
}

/* Each thread's lines begin where no line of any size is another's. */
static size_t halo_words(void)
{
    return array_size(lines * 64) / sizeof *halo;
}

__attribute__((noinline)) static void store_halo(uint64_t *part, uint64_t value)
{
    for (size_t i = 0; i < lines; i++)
        __atomic_store_n(&part[8 * i], value, __ATOMIC_RELAXED);
}

__attribute__((noinline)) static uint64_t load_halo(const uint64_t *part, uint64_t expected)
{
    uint64_t wrong = 0;
    for (size_t i = 0; i < lines; i++)
        wrong += __atomic_load_n(&part[8 * i], __ATOMIC_RELAXED) != expected;
    return wrong;
}

static size_t neighbour(size_t thread)
{
    return (thread + 1) % run_options.threads;
}

static void meet_at_barrier(size_t thread, struct run *run)
{
    uint64_t wrong = 0;
    for (;;) {
        if (thread == 0)
            __atomic_store_n(&go.iteration, run_continues(run) ? run->iteration : 0,
                             __ATOMIC_RELAXED);
        pthread_barrier_wait(&barrier);
        uint64_t round = __atomic_load_n(&go.iteration, __ATOMIC_RELAXED);
        if (round == 0)
            break;
        if (thread != 0)
            run->iteration = round;
        store_halo(halo + thread * halo_words(), round);
        pthread_barrier_wait(&barrier);
        wrong += load_halo(halo + neighbour(thread) * halo_words(), round);
    }
    if (thread != 0)
        run->iteration++;
    own_data[thread].wrong = wrong;
}

static void work(void *context, size_t thread, struct run *run)
{
    (void)context;
    communication_thread(thread);
    uint64_t state = random_start((seed << 32) + thread);
    switch (pattern) {
    case WRITE_VOLUME:
        while (run_continues(run))
            write_volume(thread, &state);
        break;
    case REDUCTION:
        while (run_continues(run))
            add_to_counter(&counters[thread * padding / sizeof *counters]);
        break;
    case QUEUE:
        use_queue(thread, run);
        break;
    case BARRIER:
        meet_at_barrier(thread, run);
        break;
    }
}

/* Shared stores follow one another in n threads' random order: a thread stores k times in a row
 * with probability (1/n)^(k-1) (1 - 1/n), then another thread takes the line. */
static void tell_write_volume(struct communication_truth *t)
{
    double common = 0, own = 0, threads = (double)run_options.threads, active = 0;
    for (size_t i = 0; i < run_options.threads; i++) {
        common += (double)own_data[i].stores_common;
        own += (double)own_data[i].stores_own;
        active += own_data[i].stores_common + own_data[i].stores_own > 0;
    }
    double stores = common + own, least = active > 1 ? active - 1 : 0;
    double most = active > 1 ? stores : 0;
    double f = stores > 0 ? own / stores : 0;
    double transfers = stores * (threads - 1) / threads;
    double never_common = f * (1 - 1 / threads) / (1 - f / threads);
    double true_share = (1 - f) * (1 - never_common);
    size_t object = communication_object(t, "shared_cell", shared_cell, ARRAY_ALIGNMENT, 64);
    for (size_t i = 0; i < COMMUNICATION_LINE_SIZES; i++) {
        const struct communication_bound bounds[] = {
            {WAW, -1, least, transfers, most},
            {WAW, 1, 0, transfers * true_share, common},
            {WAW, 0, 0, transfers * (1 - true_share), own > 0 ? most : 0},
            {RAW, -1, 0, 0, 1}, /* free() looks into the block */
            {WAR, -1, 0, 0, 0},
        };
        for (size_t k = 0; k < sizeof bounds / sizeof bounds[0]; k++)
            communication_bounds(t, i, object, &bounds[k]);
    }
}

/* The main thread clears the counters before and reads them after. */
static void tell_reduction(struct communication_truth *t, const uint64_t *done)
{
    size_t threads = run_options.threads;
    size_t object = communication_object(t, "counters", counters, array_size(threads * padding),
                                         sizeof *counters);
    for (size_t i = 0; i < COMMUNICATION_LINE_SIZES; i++) {
        size_t per_line = communication_line_sizes[i] / padding;
        double least = 0, expected = 0, most = 0;
        for (size_t first = 0; per_line > 1 && first < threads; first += per_line) {
            size_t sharers = threads - first < per_line ? threads - first : per_line;
            double additions = 0;
            for (size_t k = first; k < first + sharers; k++)
                additions += (double)(done[k] * ADDITIONS);
            least += (double)sharers - 1;
            expected += additions * (double)(sharers - 1) / (double)sharers;
            most += sharers > 1 ? additions : 0;
        }
        /* Counters that are alone on their lines move to their threads, and back to be read. */
        double once = 2 * (double)threads;
        const struct communication_bound bounds[] = {
            {-1, 0, least > once ? least - once : 0, expected, most},
            {-1, 1, 0, NAN, once},
        };
        communication_bounds(t, i, object, &bounds[0]);
        communication_bounds(t, i, object, &bounds[1]);
    }
}

/*
 * An item is written by a producer and read by a consumer that holds no copy of its line; what is
 * written there next takes the copy away from that consumer, and from the last producer if that was
 * another. Of longer lines, which hold several slots, nothing is said. The mutex shares its line
 * with head and tail.
 */
static void tell_queue(struct communication_truth *t, const uint64_t *done)
{
    double items = 0;
    for (size_t i = 0; i < producers(); i++)
        items += (double)done[i];
    double again = items > RING ? items - RING : 0;
    const struct communication_bound bounds[] = {
        {RAW, 1, items, items, items},
        {RAW, 0, 0, 0, 0},
        {WAR, 1, again, again, again},
        {WAR, 0, 0, 0, 0},
        {WAW, 1, 0, NAN, producers() > 1 ? again : 0},
        {WAW, 0, 0, 0, 0},
    };
    size_t object = communication_object(t, "ring", ring, RING * sizeof *ring, sizeof *ring);
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++)
        communication_bounds(t, 0, object, &bounds[i]);
    /* Whoever waits for the mutex reads it where the others move head and tail: as it comes. */
    object = communication_object(t, "queue", queue, sizeof *queue, sizeof *queue);
    for (int kind = RAW; kind <= WAW; kind++)
        communication_bounds(t, 0, object,
                             &(struct communication_bound){kind, 0, 0, NAN, INFINITY});
}

struct replay {
    size_t halo, go; /* numbers of the objects */
};

static void replay_halo(struct communication_truth *t, size_t object, size_t thread, size_t part,
                        enum access_effect effect)
{
    for (size_t i = 0; i < lines; i++)
        communication_access(t, thread, object, (part * halo_words() + 8 * i) * sizeof *halo,
                             sizeof *halo, effect);
}

static void replay_go(struct communication_truth *t, size_t object)
{
    for (size_t thread = 0; thread < run_options.threads; thread++)
        communication_access(t, thread, object, 0, sizeof go.iteration,
                             thread == 0 ? WRITES : READS);
}

static void replay_barrier(void *context, struct communication_truth *t, uint64_t round)
{
    const struct replay *replay = context;
    (void)round;
    replay_go(t, replay->go);
    for (size_t thread = 0; thread < run_options.threads; thread++)
        replay_halo(t, replay->halo, thread, thread, WRITES);
    for (size_t thread = 0; thread < run_options.threads; thread++)
        replay_halo(t, replay->halo, thread, neighbour(thread), READS);
}

static void tell_barrier(struct communication_truth *t, const uint64_t *done)
{
    struct replay replay;
    size_t bytes = run_options.threads * halo_words() * sizeof *halo;
    replay.halo = communication_object(t, "halo", halo, bytes, sizeof *halo);
    replay.go = communication_object(t, "go", &go, sizeof go, sizeof go);
    for (size_t offset = 0; offset < bytes; offset += 64)
        communication_access(t, 0, replay.halo, offset, 64, WRITES);
    communication_rounds(t, replay_barrier, &replay, done[0], 1);
    replay_go(t, replay.go);
}

/* The result; ends the program when it is wrong. */
static double verify(const uint64_t *done)
{
    double checksum = 0, expected = 0, produced = 0, consumed = 0;
    for (size_t i = 0; i < run_options.threads; i++) {
        struct own_data *own = &own_data[i];
        if (own->wrong != 0)
            fatal("wrong result: thread %zu found %llu wrong words", i,
                  (unsigned long long)own->wrong);
        if (pattern == REDUCTION) {
            checksum += (double)counters[i * padding / sizeof *counters];
            expected += (double)(done[i] * ADDITIONS);
        } else if (pattern == QUEUE) {
            checksum += (double)own->sum;
            *(i < producers() ? &produced : &consumed) += (double)done[i];
            expected += i < producers() ? (double)done[i] * ((double)done[i] + 1) / 2 : 0;
        } else {
            checksum += (double)done[i];
            expected += (double)done[i];
        }
    }
    if (checksum != expected || produced != consumed)
        fatal("wrong result: %.17g instead of %.17g", checksum, expected);
    return checksum;
}

static void *allocate(size_t bytes)
{
    void *memory = aligned_alloc(ARRAY_ALIGNMENT, array_size(bytes));
    check_allocation(memory, "the shared lines", bytes);
    return memory;
}

static void prepare(void)
{
    size_t threads = run_options.threads, halo_bytes = threads * halo_words() * sizeof *halo;
    switch (pattern) {
    case WRITE_VOLUME:
        shared_cell = allocate(sizeof *shared_cell);
        break;
    case REDUCTION:
        counters = allocate(threads * padding);
        memset(counters, 0, array_size(threads * padding));
        break;
    case QUEUE:
        queue = allocate(sizeof *queue);
        *queue = (struct queue){.open_producers = producers()};
        pthread_mutex_init(&queue->mutex, NULL);
        ring = allocate(RING * sizeof *ring);
        break;
    case BARRIER:
        halo = allocate(halo_bytes);
        memset(halo, 0, halo_bytes);
        pthread_barrier_init(&barrier, NULL, (unsigned)threads);
        break;
    }
}

static void tell_truth(struct communication_truth *t, const uint64_t *done)
{
    switch (pattern) {
    case WRITE_VOLUME:
        tell_write_volume(t);
        break;
    case REDUCTION:
        tell_reduction(t, done);
        break;
    case QUEUE:
        tell_queue(t, done);
        break;
    case BARRIER:
        tell_barrier(t, done);
        break;
    }
}

static void parse(const struct command *command, int argc, char **argv)
{
    options_parse(command, argc, argv);
    while (strcmp(pattern_names[pattern], pattern_name) != 0)
        pattern++;
    if (padding % sizeof *counters != 0)
        usage_error("--padding: %llu is not a multiple of 8", (unsigned long long)padding);
    if (pattern == QUEUE && run_options.threads < 2)
        usage_error("--threads: a queue needs two");
}

int main(int argc, char **argv)
{
    const struct option_spec options[] = {
        {"pattern", "write-volume|reduction|queue|barrier", "who touches what", OPTION_CHOICE,
         &pattern_name, 0, 0},
        {"sharing", "PERCENT", "write-volume: stores to the shared line", OPTION_COUNT, &sharing, 0,
         100},
        {"false", "PERCENT", "write-volume: of these, to a byte of the thread's own", OPTION_COUNT,
         &false_share, 0, 100},
        {"padding", "N", "reduction: bytes from counter to counter", OPTION_COUNT, &padding, 8,
         4096},
        {"lines", "N", "barrier: lines that a thread shares with its neighbour", OPTION_COUNT,
         &lines, 1, 1u << 16},
        {"seed", "N", "write-volume: which sequence", OPTION_COUNT, &seed, 0, UINT32_MAX},
    };
    const struct command command = {.name = "contention",
                                    .purpose = "Communication at full speed.",
                                    .options = options,
                                    .option_count = sizeof options / sizeof options[0],
                                    .run = &run_options,
                                    .threaded = true};
    parse(&command, argc, argv);
    prepare();
    uint64_t done[THREADS_MAX];
    run_threads(&run_options, work, NULL, done, NULL);
    double checksum = verify(done);
    struct communication_truth *t = communication_truth_create(&command);
    if (t != NULL)
        tell_truth(t, done);
    communication_truth_finish(t, &run_options, done, checksum);
    free(shared_cell);
    free(counters);
    free(queue);
    free(ring);
    free(halo);
    return 0;
}
