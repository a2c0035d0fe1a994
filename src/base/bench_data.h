/* base/bench_data.h — the file in which a harness leaves output data for parity (HONE_BENCH_DATA). docs/harness.md.
 *
 * A file is one segment after another, one per program run. Everything is in the writer's byte order, 8-aligned:
 *     head     8 bytes HN_DATA_MAGIC, u32 HN_DATA_ORDER, u32 0
 *     record   u32 name length (1..HN_DATA_NAME_MAX), u32 hone_bench_type, u64 number of elements,
 *              the name, zeros to a multiple of 8, the elements, zeros to a multiple of 8
 *     tail     u32 0, u32 HN_DATA_END, u64 number of records: a segment without it was cut short
 */
#ifndef HN_BENCH_DATA_H
#define HN_BENCH_DATA_H

#include <stdint.h>

#define HN_DATA_MAGIC "HONEBD1\n" /* eight bytes, without the terminating zero */
enum { HN_DATA_ORDER = 0x01020304, HN_DATA_END = 0x7fffffff, HN_DATA_NAME_MAX = 255 };

typedef struct hn_data_head {
    char magic[8];
    uint32_t order, zero;
} hn_data_head;
typedef struct hn_data_record {
    uint32_t name_n, type;
    uint64_t n;
} hn_data_record;

#endif
