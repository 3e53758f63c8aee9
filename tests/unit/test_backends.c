/* SPDX-License-Identifier: MIT */
/* lib/apply/backends: what the backends do, which the others ask for in place of their names. */
#include "unit.h"

#include <riptide/apply.h>

TEST(each_backend_has_its_traits_and_auto_those_of_all_from_which_it_chooses)
{
    static const struct {
        uint32_t trait;
        bool is_of_routes, is_of_program;
    } rows[] = {
        { RIPTIDE_REACHES_KERNEL, true, true },     { RIPTIDE_TAKES_PREFIXES, false, true },
        { RIPTIDE_TAKES_CGROUP, false, true },      { RIPTIDE_PACES, false, true },
        { RIPTIDE_HOLDS_OUT, false, true },         { RIPTIDE_COUNTS_OPENED, false, true },
        { RIPTIDE_NEEDS_BPF, false, true },         { RIPTIDE_USES_RULES, true, false },
        { RIPTIDE_ENDS_WITH_PROCESS, false, true },
    };

    EACH(row, rows) {
        const bool is_of_any = row->is_of_routes || row->is_of_program;

        assert_row(!(riptide_backend_traits(RIPTIDE_ROUTES) & row->trait) == !row->is_of_routes);
        assert_row(!(riptide_backend_traits(RIPTIDE_PROGRAM) & row->trait) == !row->is_of_program);
        assert_row(!(riptide_backend_traits(RIPTIDE_BOTH) & row->trait) == !is_of_any);
        assert_row(!(riptide_backend_traits(RIPTIDE_AUTO) & row->trait) == !is_of_any);
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
