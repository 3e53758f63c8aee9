/* SPDX-License-Identifier: MIT */
/*
 * Runs inputs through a target without a fuzzer, so that any compiler builds it and a corpus is a
 * test: replay FILE|DIRECTORY... Each input is in memory of its own size, so that valgrind detects
 * a read after its end.
 */
#include "target.h"

#include <ftw.h>
#include <sys/stat.h>

static int n_inputs;

static int replay(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    size_t n = (size_t)status->st_size;
    uint8_t *data;
    FILE *file;

    (void)ftw;
    if (type == FTW_D)
        return 0;
    file = fopen(path, "rb");
    data = malloc(n ? n : 1);
    if (!file || !data || fread(data, 1, n, file) != n) {
        perror(path);
        exit(1);
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, n);
    free(data);
    n_inputs++;
    return 0;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (nftw(argv[i], replay, 8, FTW_PHYS) != 0) {
            perror(argv[i]);
            return 1;
        }
    }
    printf("%d inputs\n", n_inputs);
    return n_inputs > 0 ? 0 : 1;
}
