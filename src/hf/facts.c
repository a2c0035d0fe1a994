/* facts.c — see facts.h. */
#include "hf/facts.h"
#include "base/fs.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int is_model(const struct dirent *e) {
    const char *dot = strrchr(e->d_name, '.');
    return dot && (!strcmp(dot, ".json") || !strcmp(dot, ".safetensors"));
}

void hn_hf_facts(const char *folder, hn_str *out) {
    struct dirent **file = NULL;
    int n = scandir(folder, &file, is_model, alphasort);
    for (int i = 0; i < n; i++) {
        struct stat st;
        char *path = hn_path_join(folder, file[i]->d_name);
        if (path && !stat(path, &st))
            hn_str_addf(out, "%s %lld %lld.%09ld\n", file[i]->d_name, (long long)st.st_size,
                        (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
        free(path);
        free(file[i]);
    }
    free(file);
}
