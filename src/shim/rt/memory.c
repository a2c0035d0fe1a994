/* memory.c — global memory, in which each allocation lies between guards; modules of kernels, and where their shared
 * variables lie: shared memory is what the compiler takes for variables of a thread of the CPU (shim.cuh). */
#include "rt.h"
#include "shim_ops.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* --- global memory ---------------------------------------------------------------------------------------------------
 */

static const size_t arena_b = (size_t)1 << 38;

void hs_region_init(hs_region *r, uintptr_t at, size_t size_b, unsigned shift) {
    *r = (hs_region){.at = at, .size_b = size_b, .shift = shift};
}

void hs_region_free(hs_region *r) {
    if (r->cell) munmap(r->cell, r->cells_b);
    r->cell = NULL;
}

hs_region *hs_region_at(uintptr_t at) {
    if (at - hs.arena >= hs.arena_used) return NULL;
    const uint32_t k = hs.slot[(at - hs.arena) / HS_SLOT_B];
    return k ? &hs.region[k - 1] : NULL;
}

static bool make_arena(void) {
    if (hs.arena) return true;
    const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *p = mmap(NULL, arena_b, PROT_NONE, how, -1, 0);
    void *s = mmap(NULL, arena_b / HS_SLOT_B * sizeof *hs.slot, PROT_READ | PROT_WRITE, how, -1, 0);
    if (p == MAP_FAILED || s == MAP_FAILED) return false;
    hs.arena = (uintptr_t)p;
    hs.arena_b = arena_b;
    hs.slot = s;
    return true;
}

/* A freed region of as many slots, or a new one. */
static hs_region *find_room(size_t slots) {
    for (size_t i = 0; i < hs.n_region; i++)
        if (hs.region[i].freed && (hs.region[i].size_b + 2 * HS_GUARD_B + HS_SLOT_B - 1) / HS_SLOT_B == slots)
            return &hs.region[i];
    if (hs.arena_used + slots * HS_SLOT_B > hs.arena_b) return NULL;
    if (!(hs.n_region & (hs.n_region - 1))) {
        hs_region *more = realloc(hs.region, (hs.n_region ? 2 * hs.n_region : 1) * sizeof *more);
        if (!more) return NULL;
        hs.region = more;
    }
    hs_region *r = &hs.region[hs.n_region++];
    *r = (hs_region){.at = hs.arena + hs.arena_used + HS_GUARD_B};
    for (size_t k = 0; k < slots; k++) hs.slot[hs.arena_used / HS_SLOT_B + k] = (uint32_t)hs.n_region;
    hs.arena_used += slots * HS_SLOT_B;
    return r;
}

void *shim_alloc(size_t size_b, const char *name) {
    if (!size_b) size_b = 1;
    if (!make_arena() || size_b > hs.arena_b / 2) return NULL;
    const size_t slots = (size_b + 2 * HS_GUARD_B + HS_SLOT_B - 1) / HS_SLOT_B;
    hs_region *r = find_room(slots);
    if (!r || mprotect((void *)(r->at - HS_GUARD_B), slots * HS_SLOT_B, PROT_READ | PROT_WRITE)) return NULL;
    hs_region_init(r, r->at, size_b, 0);
    r->starts_undefined = true;
    snprintf(r->name, sizeof r->name, "%s", name ? name : "");
    memset((void *)r->at, 0xff, size_b);
    return (void *)r->at;
}

void shim_free(void *p) {
    hs_region *r = p ? hs_region_at((uintptr_t)p) : NULL;
    if (!r || r->freed || r->at != (uintptr_t)p) return;
    const size_t all = (r->size_b + 2 * HS_GUARD_B + HS_SLOT_B - 1) / HS_SLOT_B * HS_SLOT_B;
    madvise((void *)(r->at - HS_GUARD_B), all, MADV_DONTNEED);
    hs_region_free(r);
    r->freed = true;
}

size_t shim_room(const void *p) {
    const hs_region *r = hs_region_at((uintptr_t)p);
    return r && !r->freed && (uintptr_t)p - r->at < r->size_b ? r->size_b - ((uintptr_t)p - r->at) : 0;
}

void shim_written(void *p, size_t size_b) {
    hs_region *r = hs_region_at((uintptr_t)p);
    if (r && (uintptr_t)p == r->at && size_b >= r->size_b)
        r->starts_undefined = false;
    else if (r && r->starts_undefined)
        hs_mark((uintptr_t)p, size_b,
                (hs_access){.interval = hs.last_interval ? hs.last_interval : (hs.last_interval = 1)});
}

/* --- modules ---------------------------------------------------------------------------------------------------------
 */

static char *read_whole(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    if (!f) return NULL;
    if (!fseek(f, 0, SEEK_END) && (*n = (size_t)ftell(f)) > 0 && !fseek(f, 0, SEEK_SET)) text = malloc(*n);
    if (text && fread(text, 1, *n, f) != *n) {
        free(text);
        text = NULL;
    }
    fclose(f);
    return text;
}

/* The table of symbols of the file; NULL: none. */
static const ElfW(Sym) * symbols(const hs_module *m, size_t *n, const char **names) {
    const ElfW(Ehdr) *e = (const void *)m->image;
    if (!m->image || m->image_b < sizeof *e || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0) return NULL;
    const ElfW(Shdr) *s = (const void *)(m->image + e->e_shoff);
    for (unsigned i = 0; i < e->e_shnum; i++) {
        if (s[i].sh_type != SHT_SYMTAB) continue;
        *n = s[i].sh_size / sizeof(ElfW(Sym));
        *names = m->image + s[s[i].sh_link].sh_offset;
        return (const void *)(m->image + s[i].sh_offset);
    }
    return NULL;
}

/* A function's or a variable's own name in a mangled one: the last source name of _ZN5plain4gemmEPf, or of
 * _ZZ4gemmPfE4tile, or tile.0. */
static size_t own_name(const char *mangled, char *out, size_t room) {
    const char *at = mangled, *best = mangled;
    size_t n = strcspn(mangled, ".");
    if (!strncmp(mangled, "_Z", 2)) {
        const bool variable = mangled[2] == 'Z';
        n = strlen(mangled);
        for (at = mangled + 2; *at;) {
            if (*at < '0' || *at > '9') {
                if (!variable && best != mangled && *at != 'N') break; /* the name is over: its arguments */
                at++;
                continue;
            }
            char *end;
            const unsigned long len = strtoul(at, &end, 10);
            if (!len || len > strlen(end)) break;
            best = end;
            n = len;
            at = end + len;
        }
    }
    if (n >= room) n = room - 1;
    memcpy(out, best, n);
    out[n] = 0;
    return n;
}

static void find_variables(hs_module *m) {
    size_t n = 0;
    const char *names = NULL;
    const ElfW(Sym) *s = symbols(m, &n, &names);
    m->variable = calloc(n + 1, sizeof *m->variable);
    m->variable_of = calloc(m->shared_b + 1, sizeof *m->variable_of);
    if (!m->variable || !m->variable_of) return;
    for (size_t i = 0; s && i < n && m->n_variable < UINT16_MAX - 1; i++) {
        if (ELF64_ST_TYPE(s[i].st_info) != STT_TLS || s[i].st_shndx == SHN_UNDEF) continue;
        const char *name = names + s[i].st_name;
        if (!strcmp(name, "hs_dynamic_shared")) {
            m->has_dynamic = true;
            m->dynamic = s[i].st_value;
        }
        if (s[i].st_value + s[i].st_size > m->shared_b || !s[i].st_size || !strcmp(name, "hs_dynamic_shared")) continue;
        m->variable[m->n_variable] = (hs_variable){name, s[i].st_value, s[i].st_size};
        m->n_variable++;
        for (size_t k = 0; k < s[i].st_size; k++) m->variable_of[s[i].st_value + k] = (uint16_t)m->n_variable;
    }
}

struct tls_index {
    unsigned long module, offset;
};
extern void *__tls_get_addr(struct tls_index *);

static int look_at(struct dl_phdr_info *info, size_t size, void *arg) {
    hs_module *m = arg;
    (void)size;
    if (info->dlpi_addr != m->base) return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS) m->shared_b = info->dlpi_phdr[i].p_memsz;
    m->tls = info->dlpi_tls_modid;
    return 1;
}

/* Where the shared variables of the calling thread lie. */
static void find_shared(hs_module *m) {
    struct tls_index first = {m->tls, 0};
    const uintptr_t at = m->tls && m->shared_b ? (uintptr_t)__tls_get_addr(&first) : 0;
    if (m->shared.at == at && m->shared.shared) return;
    hs_region_free(&m->shared);
    hs_region_init(&m->shared, at, m->shared_b, 0);
    m->shared.shared = true;
}

static hs_module *module_at(uintptr_t base, const char *path) {
    for (hs_module *m = hs.modules; m; m = m->next)
        if (m->base == base) return m;
    hs_module *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->base = base;
    m->image = read_whole(path, &m->image_b);
    if (!m->image) m->image = read_whole("/proc/self/exe", &m->image_b);
    m->path = strdup(path);
    dl_iterate_phdr(look_at, m);
    find_variables(m);
    m->next = hs.modules;
    hs.modules = m;
    return m;
}

hs_module *shim_load(const char *path) {
    memset(&hs.report, 0, sizeof hs.report);
    void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    struct link_map *map = NULL;
    if (!h || dlinfo(h, RTLD_DI_LINKMAP, &map)) {
        hs_say(HS_MISUSE, "cannot load '%s': %s", path, dlerror());
        return NULL;
    }
    hs_module *m = module_at(map->l_addr, path);
    if (m) m->handle = h;
    return m;
}

void *shim_kernel(hs_module *m, const char *name) {
    size_t n = 0;
    const char *names = NULL;
    const ElfW(Sym) *s = symbols(m, &n, &names);
    char own[200];
    memset(&hs.report, 0, sizeof hs.report);
    for (int mangled = 0; mangled < 2; mangled++)
        for (size_t i = 0; s && i < n; i++) {
            if (ELF64_ST_TYPE(s[i].st_info) != STT_FUNC || s[i].st_shndx == SHN_UNDEF) continue;
            if (mangled) own_name(names + s[i].st_name, own, sizeof own);
            if (!strcmp(mangled ? own : names + s[i].st_name, name)) return (void *)(m->base + s[i].st_value);
        }
    hs_say(HS_MISUSE, "no kernel '%s' in '%s'", name, m->path);
    return NULL;
}

bool hs_prepare_module(const void *code) {
    Dl_info info;
    if (!dladdr(code, &info)) return false;
    hs.module = module_at((uintptr_t)info.dli_fbase, info.dli_fname);
    if (!hs.module || !hs.module->variable || !hs.module->variable_of) return false;
    hs.base = hs.module->base;
    if (!hs.own_dynamic) hs.own_dynamic = calloc(1, HS_SHARED_MOST_B + 256);
    if (!hs.own_dynamic) return false;
    find_shared(hs.module);
    hs_region_free(&hs.dynamic);
    const uintptr_t own = ((uintptr_t)hs.own_dynamic + 255) & ~(uintptr_t)255;
    hs_region_init(&hs.dynamic, hs.module->has_dynamic ? hs.module->shared.at + hs.module->dynamic : own, hs.dynamic_b,
                   0);
    hs.dynamic.shared = true;
    snprintf(hs.dynamic.name, sizeof hs.dynamic.name, "dynamic shared memory");
    size_t all = hs.dynamic_b;
    for (size_t i = 0; i < hs.module->n_variable; i++)
        all = all > hs.module->variable[i].size_b ? all : hs.module->variable[i].size_b;
    if (all <= HS_SHARED_MOST_B) return true;
    hs_say(HS_LIMIT, "%zu bytes of shared memory: %d are possible", all, HS_SHARED_MOST_B);
    return false;
}

void *shim_dynamic(void) { return (void *)hs.dynamic.at; }

const hs_variable *hs_variable_at(uintptr_t at) {
    const hs_module *m = hs.module;
    if (!m || at - m->shared.at >= m->shared_b) return NULL;
    const uint16_t k = m->variable_of[at - m->shared.at];
    return k ? &m->variable[k - 1] : NULL;
}

const char *hs_place_name(uintptr_t at, char *to, size_t n) {
    const hs_variable *v = hs_variable_at(at);
    const hs_region *r = hs_region_at(at);
    char own[100];
    if (v) {
        own_name(v->name, own, sizeof own);
        snprintf(to, n, "shared '%s' + %zu", own, (size_t)(at - hs.module->shared.at - v->at));
    } else if (hs.dynamic_b && at - hs.dynamic.at < hs.dynamic_b)
        snprintf(to, n, "dynamic shared memory + %zu", (size_t)(at - hs.dynamic.at));
    else if (r)
        snprintf(to, n, "global %s%s%s + %lld", *r->name ? "'" : "memory", r->name, *r->name ? "'" : "",
                 (long long)(at - r->at));
    else
        snprintf(to, n, "a variable of the module");
    return to;
}
