/* SPDX-License-Identifier: MIT */
/* lib/apply/backends: what the backends do, which the others ask for in place of their names. */
#include "unit.h"

#include <riptide/apply.h>

TEST(each_backend_has_its_traits_and_auto_those_of_all_from_which_it_chooses)
{
    static const uint32_t backends[] = { RIPTIDE_ROUTES, RIPTIDE_PROGRAM };
    static const struct {
        uint32_t trait, backends;
    } rows[] = {
        { RIPTIDE_REACHES_KERNEL, RIPTIDE_ROUTES | RIPTIDE_PROGRAM },
        { RIPTIDE_TAKES_PREFIXES, RIPTIDE_PROGRAM },
        { RIPTIDE_TAKES_CGROUP, RIPTIDE_PROGRAM },
        { RIPTIDE_PACES, RIPTIDE_PROGRAM },
        { RIPTIDE_HOLDS_OUT, RIPTIDE_PROGRAM },
        { RIPTIDE_COUNTS_OPENED, RIPTIDE_PROGRAM },
        { RIPTIDE_NEEDS_BPF, RIPTIDE_PROGRAM },
        { RIPTIDE_USES_RULES, RIPTIDE_ROUTES },
        { RIPTIDE_ENDS_WITH_PROCESS, RIPTIDE_PROGRAM },
    };

    EACH(row, rows) {
        for (size_t i = 0; i < COUNT(backends); i++) {
            const bool has_it = riptide_backend_traits(backends[i]) & row->trait;

            assert_row(has_it == ((row->backends & backends[i]) != 0));
        }
        assert_row(riptide_backend_traits(RIPTIDE_BOTH) & row->trait);
        assert_row(riptide_backend_traits(RIPTIDE_AUTO) & row->trait);
    }
}

TEST(what_is_no_backend_has_no_traits_and_no_name)
{
    for (uint32_t backend = 0; backend < 256; backend++) {
        const bool is_known = backend <= RIPTIDE_BOTH;
        const char *name = riptide_name(RIPTIDE_NAMES_BACKEND, backend);

        assert_int_equal(riptide_backend_traits(backend) != 0, is_known);
        assert_int_equal(strcmp(name, "unknown") != 0, is_known);
    }
}
