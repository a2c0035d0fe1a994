/* instance.h — an instance of a compiled model: its memory, its threads, its errors. Text carried into artifacts.
 *
 * What is particular to a model stands around it: in front, the HNM_ numbers (slots, symbols, arena, weights …);
 * behind, the tables and functions declared at the end. A slot is a pointer to a value; slots of the arena and of the
 * weights are set at creation, those of inputs and outputs by each run. Symbols are m->s[0 …], their error slot
 * m->s[-1] (backend/backend.h). Kernels run in slices of their work that any thread takes: the slices decide nothing.
 */
#ifndef HNM_INSTANCE_H
#define HNM_INSTANCE_H

#define HNM_FRONT (1 + HNM_DEVICE) /* in front of the symbols: the error slot, before it the stream of a device */

struct hone_model_instance {
    hnm_common *c, own; /* c: &own, but in the further versions of an instance */
    hn_plan_item *item; /* HNM_REPLANS: sizes and offsets of the sizes of the last run */
    int32_t *order;
    hone_model_rc rc;
    char error[256];
    int64_t symbol[HNM_SYMBOLS + HNM_FRONT], planned[HNM_SYMBOLS + HNM_FRONT];
    int64_t *s;
    void *v[HNM_SLOTS + 1];
    hnm_buffer grown[HNM_GROWN + 1];
#if HNM_PROFILE
    int64_t begun_ns; /* the run */
    hone_model_time time[HNM_CALLS + 1];
#endif
};

typedef struct hnm_element_type {
    char name[12];
    uint8_t size_b;
} hnm_element_type;

/* --- the model's own part, behind this text ------------------------------------------------------------------------
 */
static const hone_model_port hnm_input[HNM_INPUTS + 1], hnm_output[HNM_OUTPUTS + 1];
static const hnm_element_type hnm_element[HNM_ELEMENTS];
static const int32_t hnm_constant_slot[HNM_CONSTANTS + 1], hnm_item_slot[HNM_ITEMS + 1];
static const int64_t hnm_constant_at[HNM_CONSTANTS + 1];
static const int64_t hnm_state_low[HNM_STATES + 1][HONE_MODEL_RANK];
static const int32_t hnm_state_slot[HNM_STATES + 1][2]; /* of what lies in its buffer: old and new value; 0: none */
static const int64_t hnm_state_most_b[HNM_STATES + 1];  /* the most bytes that it can have */
static const hn_plan_item hnm_item[HNM_ITEMS + 1];
static hone_model_rc hnm_bind(hone_model_instance *m, const hone_model_tensor *in); /* symbols of the inputs' sizes */
static void hnm_item_sizes(const hone_model_instance *m, hn_plan_item *item);
static hone_model_rc hnm_steps(hone_model_instance *m, const hone_model_tensor *in, hone_model_tensor *out);
#if HNM_DEVICE
static const int32_t hnm_constant_slot_device[HNM_CONSTANTS + 1], hnm_item_slot_device[HNM_ITEMS + 1];
static const uint8_t hnm_grown_device[HNM_GROWN + 1];  /* in the device's memory? */
static const uint8_t hnm_input_device[HNM_INPUTS + 1]; /* read by the device alone? */
static hone_model_rc hnm_reserve_device(hone_model_instance *m, hnm_buffer *b, int64_t size_b, int keep);
static hone_model_rc hnm_device_open(hone_model_instance *m, const hone_model_config *config);
static hone_model_rc hnm_device_weights(hone_model_instance *m);
static hone_model_rc hnm_device_check(hone_model_instance *m);
static hone_model_rc hnm_device_end(hone_model_instance *m);
static void hnm_device_close(hone_model_instance *m);
#endif

/* --- errors ----------------------------------------------------------------------------------------------------------
 */

__attribute__((format(printf, 3, 4))) static hone_model_rc hnm_fail(hone_model_instance *m, hone_model_rc rc,
                                                                    const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(m->error, sizeof m->error, fmt, ap);
    va_end(ap);
    return m->rc = rc;
}

static const char *hnm_error(const hone_model_instance *m) { return m ? m->error : hnm_create_error(); }
HNR hone_model_rc hnm_say(hone_model_instance *m, hone_model_rc rc, const char *text) {
    return hnm_fail(m, rc, "%s", text);
}

/* --- memory ----------------------------------------------------------------------------------------------------------
 */

/* a * b, or INT64_MAX: sizes that no memory holds. */
HNR int64_t hnm_mul(int64_t a, int64_t b) {
    int64_t n;
    return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &n) ? INT64_MAX : n;
}

/* Large pages where there is much: results of one kernel are the next one's operands, and a walk over pages of 4 KiB
 * waits for their translation (twice as long in a virtual machine). What does not fill a large page keeps small ones,
 * so that many states take no more memory than they have. */
HNR void *hnm_memory(int64_t size_b) {
    enum { LARGE_B = 2 << 20 };
    int64_t align = size_b < LARGE_B ? 64 : LARGE_B;
    size_t n = (size_t)((size_b + align - 1) / align * align);
    void *p = aligned_alloc((size_t)align, n);
#ifdef MADV_HUGEPAGE
    if (p && align == LARGE_B) madvise(p, (size_t)size_b / LARGE_B * LARGE_B, MADV_HUGEPAGE);
#endif
    return p;
}

static hone_model_rc hnm_reserve(hone_model_instance *m, hnm_buffer *b, int64_t size_b, int64_t times, int keep) {
    int64_t total;
    void *p;
    if (size_b <= b->size_b && b->data) return HONE_MODEL_OK;
    if (size_b < 64) size_b = 64;
    total = hnm_mul(size_b, times);
    if (total > INT64_MAX / 2 || !(p = hnm_memory(total)))
        return hnm_fail(m, HONE_MODEL_NOMEM, "out of memory: %lld bytes are needed at once", (long long)total);
    if (keep && b->data) memcpy(p, b->data, (size_t)b->size_b);
    free(b->data);
    *b = (hnm_buffer){p, size_b};
    return HONE_MODEL_OK;
}

#if !HNM_DEVICE
#define hnm_reserve_state(m, b, size_b, keep) hnm_reserve(m, b, size_b, 1, keep)
#define hnm_state_copy(m, to, from, size_b) memcpy(to, from, (size_t)(size_b))
#define hnm_state_zero(m, to, size_b) memset(to, 0, (size_t)(size_b))
#else
#define hnm_reserve_state(m, b, size_b, keep) hnm_reserve_device(m, b, size_b, keep)
#define hnm_state_copy(m, to, from, size_b)                                                                            \
    hnd_move((m)->c->stream, (hnd_at)(uintptr_t)(to), (hnd_at)(uintptr_t)(from), size_b)
#define hnm_state_zero(m, to, size_b) hnd_fill((m)->c->stream, (hnd_at)(uintptr_t)(to), 0, size_b)
#endif

/* Room in growing buffer i, the memory of that slot; what is in it stays. */
HNR hone_model_rc hnm_grow(hone_model_instance *m, int32_t slot, int32_t i, int64_t size_b) {
    int64_t now = m->grown[i].size_b, more = now + now / 2;
    hone_model_rc rc = hnm_reserve(m, &m->grown[i], size_b > now && size_b < more ? more : size_b, 1, 1);
    m->v[slot] = m->grown[i].data;
    return rc;
}

/* The slots of state i point to where it is now. */
HNR void hnm_point_state(hone_model_instance *m, int32_t i) {
    for (int k = 0; k < 2; k++)
        if (hnm_state_slot[i][k]) m->v[hnm_state_slot[i][k]] = m->c->state[i].b.data;
}

/* Room for state i, twice as much as before when it grows, but no more than it can need; what is in it stays. */
HNR hone_model_rc hnm_state_room(hone_model_instance *m, int32_t i, int64_t size_b) {
    hnm_state *s = &m->c->state[i];
    int64_t twice = 2 * s->b.size_b, most = hnm_state_most_b[i], more = twice < most ? twice : most;
    hone_model_rc rc = hnm_reserve_state(m, &s->b, size_b > s->b.size_b && size_b < more ? more : size_b, 1);
    hnm_point_state(m, i);
    return rc;
}

/* Room for the new value of state i, which slot `slot` points to … */
HNR hone_model_rc hnm_state_next(hone_model_instance *m, int32_t i, int32_t slot, int64_t size_b) {
    hone_model_rc rc = hnm_reserve_state(m, &m->c->state[i].next, size_b, 0);
    m->v[slot] = m->c->state[i].next.data;
    return rc;
}

/* … and which is the state from now on. */
HNR void hnm_state_swap(hone_model_instance *m, int32_t i) {
    hnm_state *s = &m->c->state[i];
    hnm_buffer old = s->b;
    s->b = s->next, s->next = old;
}

/* At the start of the steps: the old value, all zero after a reset. */
HNR hone_model_rc hnm_state_begin(hone_model_instance *m, int32_t i, int64_t size_b) {
    hone_model_rc rc = hnm_state_room(m, i, size_b);
    if (!rc && m->c->fresh && !m->c->state[i].made) hnm_state_zero(m, m->c->state[i].b.data, size_b);
    return rc;
}

/* Dimension d of state i, which nothing but the state gives; after a reset the smallest. */
HNR int64_t hnm_state_size(const hone_model_instance *m, int32_t i, int32_t d) { return m->c->state[i].dim[d]; }

HNR hone_model_rc hnm_state_check(hone_model_instance *m, int32_t i, int32_t d, int64_t n, const char *name,
                                  const char *text) {
    int64_t *now = &m->c->state[i].dim[d];
    if (m->c->fresh) *now = n;
    if (*now == n) return HONE_MODEL_OK;
    return hnm_fail(m, HONE_MODEL_SHAPE, "state '%.80s': dimension %d is %lld, but %.60s is %lld; reset it", name,
                    (int)d, (long long)*now, text, (long long)n);
}

/* New rows behind the first `at` bytes, which stay. */
HNR void hnm_state_append(hone_model_instance *m, int32_t i, int64_t at, const void *from, int64_t size_b) {
    if (size_b > 0) hnm_state_copy(m, m->c->state[i].b.data + at, from, size_b);
}

static void hnm_point_items(hone_model_instance *m, const hn_plan_item *item) {
    for (int32_t i = 0; i < HNM_ITEMS; i++) m->v[hnm_item_slot[i]] = m->c->arena.data + item[i].offset;
#if HNM_DEVICE
    for (int32_t i = 0; i < HNM_ITEMS; i++) m->v[hnm_item_slot_device[i]] = m->c->device_arena.data + item[i].offset;
#endif
}

/* The arena, and the device's, which has the same plan. */
static hone_model_rc hnm_reserve_arena(hone_model_instance *m, int64_t size_b) {
    hone_model_rc rc = hnm_reserve(m, &m->c->arena, size_b, 1, 0);
#if HNM_DEVICE
    if (!rc) rc = hnm_reserve_device(m, &m->c->device_arena, size_b, 0);
#endif
    return rc;
}

#if HNM_REPLANS
static hone_model_rc hnm_plan(hone_model_instance *m) {
    hone_model_rc rc;
    if (m->item && !memcmp(m->planned, m->symbol, sizeof m->planned)) {
        hnm_point_items(m, m->item);
        return HONE_MODEL_OK;
    }
    if (!m->item) {
        m->item = malloc((HNM_ITEMS + 1) * sizeof *m->item);
        m->order = malloc(4 * (HNM_ITEMS + 1) * sizeof *m->order);
        if (!m->item || !m->order) return hnm_fail(m, HONE_MODEL_NOMEM, "out of memory in the memory plan");
    }
    memcpy(m->item, hnm_item, HNM_ITEMS * sizeof *m->item);
    hnm_item_sizes(m, m->item);
    m->planned[0] = -1; /* not valid until all is well */
    for (int32_t i = 0; i < HNM_ITEMS; i++)
        if (m->item[i].size_b < 0 || m->item[i].size_b > (int64_t)1 << 46)
            return hnm_fail(m, HONE_MODEL_NOMEM, "the sizes of the inputs need more memory than there can be");
    rc = hnm_reserve_arena(m, hn_plan_place(m->item, HNM_ITEMS, m->order));
    if (rc) return rc;
    memcpy(m->planned, m->symbol, sizeof m->planned);
    hnm_point_items(m, m->item);
    return HONE_MODEL_OK;
}
#else
static hone_model_rc hnm_plan(hone_model_instance *m) {
    hnm_point_items(m, hnm_item);
    return HONE_MODEL_OK;
}
#endif

/* --- weights ------------------------------------------------------------------------------------------------------ */

#if HNM_WEIGHTS_FILE
/* Beside the library (or program) that holds this code: NAME.weights for a library NAME.so, else as compiled. */
static int hnm_weights_path(char *path, size_t n) {
    Dl_info here;
    const char *slash;
    if (!dladdr((void *)(uintptr_t)hnm_error, &here) || !here.dli_fname) return 0;
    size_t end = strlen(here.dli_fname);
    if (end > 3 && !strcmp(here.dli_fname + end - 3, ".so") &&
        snprintf(path, n, "%.*s.weights", (int)end - 3, here.dli_fname) < (int)n && !access(path, R_OK))
        return 1;
    slash = strrchr(here.dli_fname, '/');
    return snprintf(path, n, "%.*s%s", slash ? (int)(slash - here.dli_fname) + 1 : 0, here.dli_fname,
                    HNM_WEIGHTS_NAME) < (int)n;
}

static hone_model_rc hnm_map_weights(hone_model_instance *m, const char *path) {
    char beside[4096];
    struct stat st;
    void *map = MAP_FAILED;
    if (!path) path = hnm_weights_path(beside, sizeof beside) ? beside : HNM_WEIGHTS_NAME;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return hnm_fail(m, HONE_MODEL_WEIGHTS, "cannot open the weights '%.150s': %s", path, strerror(errno));
    if (fstat(fd, &st) == 0 && st.st_size == (off_t)(HNM_WEIGHTS_B + 64))
        map = mmap(NULL, HNM_WEIGHTS_B + 64, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return hnm_fail(m, HONE_MODEL_WEIGHTS, "the weights '%.150s' do not have %llu bytes", path,
                        (unsigned long long)HNM_WEIGHTS_B + 64);
    m->c->weights = map;
    m->c->mapped_b = HNM_WEIGHTS_B + 64;
#ifdef MADV_HUGEPAGE
    madvise(map, m->c->mapped_b, MADV_HUGEPAGE); /* read ahead in large pages, where the file system has them */
#endif
    if (memcmp(map, HNM_WEIGHTS_HEAD, 48))
        return hnm_fail(m, HONE_MODEL_WEIGHTS, "'%.150s' holds the weights of another model", path);
    m->c->weights += 64;
    return HONE_MODEL_OK;
}
static void hnm_unmap_weights(hone_model_instance *m) {
    uintptr_t at = (uintptr_t)m->c->weights;
    if (m->c->mapped_b) munmap((void *)(at - at % 4096), m->c->mapped_b);
}
#else
static hone_model_rc hnm_map_weights(hone_model_instance *m, const char *path) {
    (void)path;
    m->c->weights = (const char *)hnm_weights;
    return HONE_MODEL_OK;
}
static void hnm_unmap_weights(hone_model_instance *m) { (void)m; }
#endif

/* --- threads ------------------------------------------------------------------------------------------------------ */

HNR hone_model_rc hnm_launch(hone_model_instance *m, hone_kernel_fn *run, void *const *buf, int64_t work, int64_t cost,
                             int64_t scratch_b) {
    hone_model_rc rc;
    hnm_common *c = m->c;
    hnr_job job;
    if (work <= 0) return HONE_MODEL_OK;
    if (scratch_b && (rc = hnm_reserve(m, &c->scratch, scratch_b, c->n_threads, 0))) return rc;
    int64_t n = hnr_cut(&job, work, cost, c->n_threads);
    if (n < 2) {
        run(buf, m->s, 0, work, c->scratch.data);
        return HONE_MODEL_OK;
    }
    job.run = run, job.buf = buf, job.s = m->s;
    job.scratch = c->scratch.data, job.scratch_b = c->scratch.size_b;
    if (c->executor)
        c->executor(c->context, hnr_take, &job, n);
    else
        hnr_pool_run(c->pool, hnr_take, &job, n);
    return HONE_MODEL_OK;
}

static hone_model_rc hnm_start_threads(hone_model_instance *m, const hone_model_config *c) {
    m->c->n_threads = c->n_threads > 0 ? c->n_threads : hnr_processors();
    if (!HNM_HOST_KERNELS) m->c->n_threads = 1;
    if (m->c->n_threads > HONE_MODEL_THREADS) m->c->n_threads = HONE_MODEL_THREADS;
    m->c->executor = c->executor;
    m->c->context = c->executor_context;
    if (m->c->executor || m->c->n_threads < 2) return HONE_MODEL_OK;
    m->c->pool = hnr_pool_new((int)m->c->n_threads);
    return m->c->pool ? HONE_MODEL_OK : hnm_fail(m, HONE_MODEL_NOMEM, "cannot start %d threads", (int)m->c->n_threads);
}

/* --- times -------------------------------------------------------------------------------------------------------- */

#if HNM_PROFILE
static int64_t hnm_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

HNR void hnm_note(hone_model_instance *m, int32_t call, int64_t begin_ns, double flops, double bytes) {
    hone_model_time *t = &m->time[call];
    if (!t->count++) t->begin_ns = begin_ns - m->begun_ns;
    t->time_ns += hnm_now_ns() - begin_ns;
    t->flops += flops, t->bytes += bytes;
}

static const hone_model_time *hnm_times(const hone_model_instance *m) { return m->time; }
#endif

/* --- control flow and symbols ------------------------------------------------------------------------------------- */

HNR void hnm_copy(void *to, const void *from, int64_t size_b) {
    if (size_b > 0 && to != from) memcpy(to, from, (size_t)size_b);
}

/* A symbol whose value was computed. */
HNR hone_model_rc hnm_define(hone_model_instance *m, int32_t symbol, int64_t value, int64_t low, int64_t high) {
    m->s[symbol] = value;
    if (value >= low && value <= high) return HONE_MODEL_OK;
    return hnm_fail(m, HONE_MODEL_INDEX, "a size computed from data is %lld, out of its range", (long long)value);
}

/* Where result number `turn` of a loop goes: behind the others. */
HNR hone_model_rc hnm_stack(hone_model_instance *m, int32_t slot, int32_t grown, int64_t turn, const void *from,
                            int64_t size_b) {
    hone_model_rc rc = HONE_MODEL_OK;
    if (grown >= 0) rc = hnm_grow(m, slot, grown, hnm_mul(turn + 1, size_b));
    if (!rc) hnm_copy((char *)m->v[slot] + turn * size_b, from, size_b);
    return rc;
}

/* --- inputs and outputs ------------------------------------------------------------------------------------------- */

static int64_t hnm_bytes(const hone_model_tensor *t) {
    int64_t n = hnm_element[t->dtype].size_b;
    for (int32_t d = 0; d < t->rank; d++)
        if (t->dim[d] == 0) return 0;
    for (int32_t d = 0; d < t->rank; d++) n = hnm_mul(n, t->dim[d]);
    return n;
}

/* Does nothing but the device read it? */
static int hnm_input_may_be_there(const hone_model_port *p) {
#if HNM_DEVICE
    return hnm_input_device[p - hnm_input];
#else
    return (void)p, 0;
#endif
}

static hone_model_rc hnm_check_input(hone_model_instance *m, const hone_model_port *p, const hone_model_tensor *t) {
    if (t->dtype != p->dtype)
        return hnm_fail(m, HONE_MODEL_ARGUMENT, "input '%.80s' has element type %s (%d) instead of %s (%d)", p->name,
                        (uint32_t)t->dtype < HNM_ELEMENTS ? hnm_element[t->dtype].name : "?", (int)t->dtype,
                        hnm_element[p->dtype].name, (int)p->dtype);
    if (t->rank != p->rank)
        return hnm_fail(m, HONE_MODEL_ARGUMENT, "input '%.80s' has rank %d instead of %d", p->name, (int)t->rank,
                        (int)p->rank);
    for (int32_t d = 0; d < p->rank; d++)
        if (t->dim[d] < p->low[d] || t->dim[d] > p->high[d])
            return hnm_fail(m, HONE_MODEL_SHAPE,
                            p->low[d] == p->high[d] ? "input '%.80s': dimension %d is %lld instead of %lld"
                                                    : "input '%.80s': dimension %d is %lld, not in %lld .. %lld",
                            p->name, (int)d, (long long)t->dim[d], (long long)p->low[d], (long long)p->high[d]);
    int64_t size_b = hnm_bytes(t);
    if (size_b > (int64_t)1 << 46)
        return hnm_fail(m, HONE_MODEL_SHAPE, "input '%.80s' has more elements than memory holds", p->name);
    if (!t->data && size_b) return hnm_fail(m, HONE_MODEL_ARGUMENT, "input '%.80s' has no data", p->name);
    if (t->space && !(HNM_DEVICE && t->space == 1 && hnm_input_may_be_there(p)))
        return hnm_fail(m, HONE_MODEL_ARGUMENT,
                        HNM_DEVICE && t->space == 1
                            ? "input '%.80s' is in memory space %d; the host reads it, and needs it in its own, 0"
                            : "input '%.80s' is in memory space %d; the library runs in the host's, 0",
                        p->name, (int)t->space);
    if ((uintptr_t)t->data % (t->space ? 16 : hnm_element[t->dtype].size_b))
        return hnm_fail(m, HONE_MODEL_ARGUMENT, "the data of input '%.80s' is not aligned to %s", p->name,
                        t->space ? "16 bytes" : "its elements");
    return HONE_MODEL_OK;
}

/* Is the buffer of output j, whose dims are set, large enough and apart from the inputs and the outputs before it? */
HNR hone_model_rc hnm_check_output(hone_model_instance *m, const hone_model_tensor *in, const hone_model_tensor *t,
                                   int32_t j) {
    int64_t size_b = hnm_bytes(t);
    uintptr_t begin = (uintptr_t)t->data, end = begin + (uintptr_t)size_b;
    if (t->space && !(HNM_DEVICE && t->space == 1))
        return hnm_fail(m, HONE_MODEL_ARGUMENT,
                        "output '%.80s' is in memory space %d; the library runs in the host's, 0", hnm_output[j].name,
                        (int)t->space);
    if (!t->data) return HONE_MODEL_OK;
    if ((uint64_t)size_b > t->size_b)
        return hnm_fail(m, HONE_MODEL_SMALL, "output '%.80s' needs %lld bytes, its buffer has %llu", hnm_output[j].name,
                        (long long)size_b, (unsigned long long)t->size_b);
    if (begin % hnm_element[t->dtype].size_b)
        return hnm_fail(m, HONE_MODEL_ARGUMENT, "the buffer of output '%.80s' is not aligned to its elements",
                        hnm_output[j].name);
    for (const hone_model_tensor *o = t - j; o < t; o++)
        if (o->data && begin < (uintptr_t)o->data + o->size_b && (uintptr_t)o->data < begin + t->size_b)
            return hnm_fail(m, HONE_MODEL_ARGUMENT, "the buffers of outputs '%.80s' and '%.80s' overlap",
                            hnm_output[o - (t - j)].name, hnm_output[j].name);
    for (int32_t i = 0; i < HNM_INPUTS; i++) {
        uintptr_t from = (uintptr_t)in[i].data, to = from + (uintptr_t)hnm_bytes(&in[i]);
        if (begin < to && from < end)
            return hnm_fail(m, HONE_MODEL_ARGUMENT, "output '%.80s' overlaps input '%.80s'", hnm_output[j].name,
                            hnm_input[i].name);
    }
    return HONE_MODEL_OK;
}

/* At the end of a run: the value in slot v is output j. */
HNR void hnm_give_output(hone_model_instance *m, hone_model_tensor *t, int32_t slot) {
    if (t->data)
        hnm_copy(t->data, m->v[slot], hnm_bytes(t));
    else
        t->data = m->v[slot], t->size_b = (size_t)hnm_bytes(t);
}

/* --- the calls ---------------------------------------------------------------------------------------------------- */

static void hnm_free(hone_model_instance *m) {
    if (!m) return;
#if HNM_DEVICE
    hnm_device_close(m);
#endif
    if (m->c == &m->own) {
        if (m->own.pool) hnr_pool_free(m->own.pool);
        hnm_unmap_weights(m);
        free(m->own.arena.data);
        free(m->own.scratch.data);
        for (int32_t i = 0; m->own.state && i < HNM_STATES; i++)
            free(m->own.state[i].b.data), free(m->own.state[i].next.data);
        free(m->own.state);
        free((char *)(uintptr_t)m->own.config.weights);
    }
    for (int32_t i = 0; i < HNM_GROWN; i++) free(m->grown[i].data);
    free(m->item);
    free(m->order);
    free(m);
}

/* The caller's configuration, of which older programs know the first fields alone. */
static hone_model_rc hnm_take_config(hone_model_instance *m, const hone_model_config *config) {
    hone_model_config *c = &m->own.config;
    *c = hone_model_defaults();
    if (!config) return HONE_MODEL_OK;
    if (config->size < offsetof(hone_model_config, device) + sizeof config->device)
        return hnm_fail(m, HONE_MODEL_ARGUMENT,
                        "the configuration does not say its size; begin with hone_model_defaults()");
    *c = *config;
    c->size = sizeof *c;
    c->weights = config->weights ? strdup(config->weights) : NULL;
    if (config->weights && !c->weights) return hnm_fail(m, HONE_MODEL_NOMEM, "out of memory");
    if (HNM_DEVICE || !c->device) return HONE_MODEL_OK;
    return hnm_fail(m, HONE_MODEL_TARGET, "the library runs on the host's processors, device 0, not on device %d",
                    (int)c->device);
}

static hone_model_rc hnm_make_states(hone_model_instance *m) {
    m->own.state = (hnm_state *)calloc(HNM_STATES + 1, sizeof *m->own.state);
    m->own.fresh = 1;
    for (int32_t i = 0; m->own.state && i < HNM_STATES; i++)
        memcpy(m->own.state[i].dim, hnm_state_low[i], sizeof m->own.state[i].dim);
    return m->own.state ? HONE_MODEL_OK : hnm_fail(m, HONE_MODEL_NOMEM, "out of memory");
}

/* common: that of the version for all sizes, or NULL. */
static hone_model_rc hnm_create_in(const hone_model_config *config, hnm_common *common, hone_model_instance **out) {
    hone_model_instance *m = out ? calloc(1, sizeof *m) : NULL;
    hone_model_rc rc = HONE_MODEL_OK;
    if (!out) return hnm_create_fail(HONE_MODEL_ARGUMENT, "no place for the instance");
    if (!m) return hnm_create_fail(HONE_MODEL_NOMEM, "out of memory");
    m->s = m->symbol + HNM_FRONT;
    m->c = common ? common : &m->own;
    if (!common) m->own.memory = &hnm_host_storage;
    if (!common) rc = hnm_take_config(m, config);
    if (!common && !rc) rc = hnm_make_states(m);
    if (!common && !rc) rc = hnm_map_weights(m, m->c->config.weights);
    if (!common && !rc) rc = hnm_start_threads(m, &m->c->config);
#if HNM_DEVICE
    if (!common && !rc) rc = hnm_device_open(m, &m->c->config);
    if (!rc) rc = hnm_device_weights(m);
#endif
    if (!rc) rc = hnm_reserve_arena(m, HNM_ARENA_B);
    if (!rc) rc = hnm_reserve(m, &m->c->scratch, HNM_SCRATCH_B, m->c->n_threads, 0);
    for (int32_t i = 0; !rc && i < HNM_CONSTANTS; i++)
        m->v[hnm_constant_slot[i]] = (void *)(uintptr_t)(m->c->weights + hnm_constant_at[i]);
    if (rc) {
        hnm_create_fail(rc, "%s", m->error);
        hnm_free(m);
        return rc;
    }
    *out = m;
    return HONE_MODEL_OK;
}

HNR hone_model_rc hnm_create(const hone_model_config *config, hone_model_instance **out) {
    return hnm_create_in(config, NULL, out);
}
HNR hnm_common *hnm_common_of(hone_model_instance *m) { return m->c; }
HNR hone_model_rc hnm_create_again(const hone_model_instance *m, const hone_model_config *config,
                                   hone_model_instance **out) {
    (void)m;
    return hnm_create(config, out);
}
HNR int32_t hnm_last_version(const hone_model_instance *m) { return m ? 0 : 0; }

static hone_model_rc hnm_run(hone_model_instance *m, const hone_model_tensor *in, size_t n_in, hone_model_tensor *out,
                             size_t n_out) {
    hone_model_rc rc = HONE_MODEL_OK;
    if (!m) return HONE_MODEL_ARGUMENT;
    if (n_in != HNM_INPUTS || n_out != HNM_OUTPUTS || (n_in && !in) || (n_out && !out))
        return hnm_fail(m, HONE_MODEL_ARGUMENT, "the model has %d inputs and %d outputs, the call %zu and %zu",
                        HNM_INPUTS, HNM_OUTPUTS, n_in, n_out);
    memset(m->symbol, 0, sizeof m->symbol);
#if HNM_DEVICE
    m->s[-2] = (int64_t)(uintptr_t)m->c->stream;
#endif
#if HNM_PROFILE
    memset(m->time, 0, sizeof m->time);
    m->begun_ns = hnm_now_ns();
#endif
    for (size_t i = 0; !rc && i < n_in; i++) rc = hnm_check_input(m, &hnm_input[i], &in[i]);
    if (!rc) rc = hnm_bind(m, in);
    if (!rc) rc = hnm_plan(m);
    if (!rc && m->c->lost)
        rc = hnm_fail(m, HONE_MODEL_STATE, "the state was lost in a run that failed: reset or load it");
    if (!rc) rc = hnm_steps(m, in, out);
#if HNM_DEVICE
    if (!rc) rc = hnm_device_end(m);
#endif
    if (!rc && m->s[-1]) rc = hnm_fail(m, HONE_MODEL_INDEX, "an index computed from data is out of range");
    if (!rc) m->c->lost = 0;
    return rc;
}

#endif
