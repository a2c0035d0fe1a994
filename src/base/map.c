/* map.c — mapping files. */
#include "base/map.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

hone_rc hn_map_file(const char *path, hn_mapping *out, hone_err *err) {
    struct stat st;
    hone_rc rc = HONE_OK;
    void *at = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return hn_fail(err, HONE_E_IO, "cannot open '%s': %s", path, strerror(errno));
    if (fstat(fd, &st))
        rc = hn_fail(err, HONE_E_IO, "cannot look at '%s': %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        rc = hn_fail(err, HONE_E_IO, "'%s' is no regular file", path);
    else if (st.st_size > 0) {
        at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (at == MAP_FAILED) rc = hn_fail(err, HONE_E_IO, "cannot map '%s': %s", path, strerror(errno));
    }
    close(fd);
    if (!rc) *out = (hn_mapping){at, (size_t)st.st_size};
    return rc;
}

void hn_unmap(hn_mapping *m) {
    if (m->n) munmap(m->at, m->n);
    *m = (hn_mapping){0};
}
