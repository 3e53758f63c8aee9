/* SPDX-License-Identifier: MIT */
/* Policy careful on literal samples and times; docs/policies.md has its rule. */
#include "estimators.h"

static bool is_paced(const struct riptide_estimator *estimator)
{
    return explain(estimator).pacing_percent == 100;
}

/* The three series of docs/policies.md. */
TEST(series_of_the_documentation)
{
    ESTIMATOR *deep = begun(true), *shallow = begun(true), *routes = begun(false);

    flights(deep, "...24.48...x48");
    assert_int_equal(explain(deep).fitting, 1);
    assert_int_equal(explain(deep).wait, 4);
    assert_int_equal(explain(deep).against, 4);
    flights(deep, "...96");
    assert_false(is_paced(deep));

    flights(shallow, "....48xxx48");
    assert_false(is_paced(shallow));
    flights(shallow, "x48");
    assert_true(is_paced(shallow));
    flights(shallow, "....96");
    assert_false(explain(shallow).may_lower);
    flights(shallow, "xx...xx..xxxx96xxx72");
    assert_true(explain(shallow).may_lower);
    flights(shallow, ".......72.81");
    assert_true(is_paced(shallow));

    flights(routes, "....48xxxx36........41xxxx31...............31.35................39........44");
    assert_false(is_paced(routes));
}

/* A flight of START; what it counts as shows after three that fit: a raise, or 48 without it. */
TEST(connection_shows_its_first_flight)
{
    enum { FITS, LOSES, SAYS_NOTHING, UNSET = INT32_MAX };
    static const struct {
        const char *what;
        uint32_t cwnd, segs, lost, ssthresh;
        int kind;
    } cases[] = {
        { "filled", 48, 24, 0, UNSET, FITS },
        { "any length without a loss", 300, 5000, 0, UNSET, FITS },
        { "not filled", 40, 23, 0, UNSET, SAYS_NOTHING },
        { "small", 24, 11, 4, 24, SAYS_NOTHING },
        { "not filled, and lossy", 24, 12, 1, 24, LOSES },
        { "not in flight together", 24, 200, 0, UNSET, SAYS_NOTHING },
        { "lost one of 24", 24, 24, 1, 32, LOSES },
        { "lost in the first flight", 33, 190, 4, 32, LOSES },
        { "lost in the second flight, which had 48", 33, 190, 4, 33, FITS },
        { "lost in the second flight, all there is", 33, 48, 4, 33, FITS },
        { "lost later", 150, 700, 40, 140, FITS },
        { "so long that windows grew again", 150, 16 * 140 + 1, 40, 140, SAYS_NOTHING },
        { "so long that there were more losses", 33, 193, 4, 32, SAYS_NOTHING },
        { "bbr, up to four windows", 33, 96, 4, UNSET, LOSES },
        { "bbr, a stray loss", 33, 96, 1, UNSET, FITS },
        { "bbr, longer", 33, 97, 9, UNSET, SAYS_NOTHING },
    };

    EACH(row, cases) {
        ESTIMATOR *estimator = begun(false);
        struct riptide_sample sample = opened(24, row->segs, row->lost);

        sample.cwnd = row->cwnd;
        sample.ssthresh_segs = row->ssthresh;
        flights(estimator, "...");
        assert_row(tick(estimator, sample) == (row->kind == FITS ? 48 : 24));
        assert_row(row->kind == FITS || flights(estimator, ".") == (row->kind == LOSES ? 24 : 48));
    }
}

/* Those are evidence a minute after the last full ones. */
TEST(largest_segment_size_fades)
{
    ESTIMATOR *estimator = begun(true);
    struct riptide_sample small = closed(24, 24, 0);

    small.mss_bytes = 536;
    for (int i = 0; i < 60; i++) {
        tick(estimator, small);
        if (i < 10)
            assert_int_equal(explain(estimator).fitting, 0);
    }
    assert_int_equal(cwnd_of(estimator), 48);
}

/* What shows the other path had the window of the former one, and so have those of its round. */
TEST(first_flights_of_the_former_path_do_not_count)
{
    ESTIMATOR *estimator = begun(false);
    struct riptide_sample other = closed(48, 48, 12);

    flights(estimator, "....48");
    other.min_rtt_us = RTT_US / 2 - 1;
    add_times(estimator, 12, other);
    assert_int_equal(pass(estimator), START);
    assert_int_equal(explain(estimator).against, 0);
}

/* Flights of 12 paced segments that lose say nothing of less than the least paced window. */
TEST(hint_below_the_least_paced_window_costs_no_more_than_that)
{
    ESTIMATOR *estimator = begun(true);

    flights(estimator, "........xxxx");
    assert_true(is_paced(estimator));
    cap(estimator, "192.0.2.1", 12, estimator->input.now_ns + 15 * S);
    flights(estimator, "xxxxxxxxxxx12......24");
}

/* Whichever of them is seen first; what ends at a proxy on this host knows nothing of the peer. */
TEST(connections_to_a_proxy_on_this_host_do_not_count)
{
    for (int is_first = 0; is_first < 2; is_first++) {
        ESTIMATOR *estimator = estimator_of_policy("careful");

        set_pacing(estimator, true);
        for (int i = 0; i < 40; i++) {
            uint32_t cwnd = cwnd_of(estimator);
            struct riptide_sample local = closed(cwnd, 100, 0);

            local.min_rtt_us = local.rtt_us = 40;
            add_times(estimator, i == 0 ? is_first : 20, local);
            tick(estimator, i == 0 ? busy(400) : closed(cwnd, cwnd, cwnd > 30 ? cwnd - 30 : 0));
        }
        assert_int_equal(explain(estimator).min_rtt_us, RTT_US);
        assert_true(is_paced(estimator));
        assert_in_range(cwnd_of(estimator), 24, 48);
    }
}

/* A smaller window fits: the larger one may not. It lost: so would the larger one. */
TEST(smaller_window_counts_for_a_larger_one_by_its_losses)
{
    ESTIMATOR *estimator = begun(false);

    flights(estimator, "....48");
    for (int i = 0; i < 8; i++)
        assert_int_equal(tick(estimator, closed(24, 24, 0)), 48);
    for (int i = 0; i < 3; i++)
        assert_int_equal(tick(estimator, closed(24, 24, 6)), 48);
    assert_int_equal(tick(estimator, closed(24, 24, 6)), 36);
}

/* From before a cut, or of a stack that was given more: it does not show that less is too much. */
TEST(larger_window_does_not_count)
{
    ESTIMATOR *estimator = begun(false);

    flights(estimator, "....48xxxx36");
    for (int i = 0; i < 8; i++)
        assert_int_equal(tick(estimator, closed(48, 48, 12)), 36);
    for (int i = 0; i < 8; i++)
        assert_int_equal(tick(estimator, closed(48, 48, 0)), 36);
    assert_int_equal(explain(estimator).fitting, 0);
    assert_int_equal(explain(estimator).against, 0);
}

/* A route keeps its window within a step of two segments, or a tenth. */
TEST(window_within_a_step_counts_as_the_present_one)
{
    ESTIMATOR *estimator = begun(false);

    assert_int_equal(explain(estimator).fitting, 0);
    add_times(estimator, 3, closed(22, 22, 0));
    assert_int_equal(explain(estimator).fitting, 3);
    add(estimator, closed(21, 21, 0));
    assert_int_equal(explain(estimator).fitting, 3);
    add(estimator, closed(26, 26, 0));
    assert_int_equal(explain(estimator).fitting, 4);
}

/*
 * They left at once, and say nothing of a pace. Those that open later say what they say: the
 * application may have a pace of its own.
 */
TEST(flights_from_before_pacing_do_not_count)
{
    ESTIMATOR *estimator = begun(true);
    struct riptide_sample at_once = closed(48, 48, 12);

    flights(estimator, "....48xxxx48");
    assert_true(is_paced(estimator));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(riptide_estimator_add(estimator, &at_once), 0);
        assert_int_equal(pass(estimator), 48);
    }
    assert_int_equal(explain(estimator).against, 0);
    assert_int_equal(riptide_estimator_add(estimator, &at_once), 0);
    assert_int_equal(explain(estimator).against, 2);
}

/* Each of its samples says how it opened; one that its first flight has ended. */
TEST(connection_counts_once_as_its_first_flight_has_ended)
{
    ESTIMATOR *estimator = begun(false);
    struct riptide_sample later = opened(24, 24, 6), end = closed(24, 24, 6);

    later.flight_ended = end.flight_ended = false;
    later.shown = end.shown = true;
    for (int i = 0; i < 10; i++) {
        add(estimator, later);
        assert_int_equal(tick(estimator, end), 24);
    }
    assert_int_equal(explain(estimator).against, 0);
    /* It talked for long before it sent data: its end is the first sample after its flight. */
    end.flight_ended = true;
    assert_int_equal(tick(estimator, end), 24);
    assert_int_equal(tick(estimator, end), 18); /* two, as before them there was none for long */
}

TEST(paths_of_less_than_5_ms_are_not_paced)
{
    for (uint32_t below_us = 0; below_us < 2; below_us++) {
        ESTIMATOR *estimator = begun(true);
        struct riptide_sample sample = opened(24, 24, 6);

        sample.min_rtt_us = PACING_RTT_MIN_US - below_us;
        for (int i = 0; i < 12; i++)
            tick(estimator, sample);
        assert_int_equal(is_paced(estimator), below_us == 0);
        assert_int_equal(cwnd_of(estimator), below_us == 0 ? 24 : 18);
    }
}

/* Somebody has detached the program: routes give windows at once, until it is back. */
TEST(window_that_is_no_longer_paced_begins_anew)
{
    ESTIMATOR *estimator = begun(true);

    flights(estimator, "....xxxx");
    assert_true(is_paced(estimator) && cwnd_of(estimator) == 48);
    set_pacing(estimator, false);
    assert_int_equal(tick(estimator, busy(400)), START);
    assert_false(is_paced(estimator));
    flights(estimator, "....48");
    set_pacing(estimator, true);
    flights(estimator, "xxxx48");
    assert_true(is_paced(estimator));
}

TEST(idle_connections_keep_a_window_and_silence_ends_it)
{
    ESTIMATOR *estimator = begun(false);
    struct riptide_sample idle = busy(500), unused = busy(500);

    idle.last_data_sent_ms = 10000;
    unused.data_segs_out = 0;
    flights(estimator, "....48");
    for (int i = 0; i < 300; i++)
        assert_int_equal(tick(estimator, idle), 48);
    for (int i = 0; i < 89; i++)
        assert_int_equal(tick(estimator, unused), 48);
    assert_int_equal(tick(estimator, unused), 0); /* the time to live has passed */
    assert_int_equal(tick(estimator, idle), 0);
    assert_int_equal(tick(estimator, busy(400)), START);
}

/* Each half minute one opens, beside an idle one that keeps the window. Two pace, four more cut. */
TEST(two_rare_flights_raise_or_lower_a_window_that_was_never_cut)
{
    static const char *const series[] = {
        ".24", ".48", ".48", ".96", "x96", "x96", "x96", "x96", "x96", "x72", ".72", ".72", ".72",
    };
    ESTIMATOR *estimator = begun(true);
    struct riptide_sample idle = busy(500);

    idle.last_data_sent_ms = 10000;
    for (size_t i = 0; i < sizeof(series) / sizeof(series[0]); i++) {
        flights(estimator, series[i]);
        for (int s = 0; s < 30; s++)
            tick(estimator, idle);
    }
}

TEST(another_path_begins_anew)
{
    static const struct {
        uint32_t path_us, now_us;
        bool is_other;
    } cases[] = {
        { RTT_US, RTT_US / 2, false },
        { RTT_US, RTT_US / 2 - 1, true },
        { RTT_US, RTT_US * 10, false },
        { RTT_US, RTT_US * 10 + 10, true },
        { 300, 4000, true },
        { 2000, 900, false }, /* jitter */
        { 2001, 1000, true },
    };

    EACH(row, cases) {
        ESTIMATOR *estimator = estimator_of_policy("careful");
        struct riptide_sample sample = opened(24, 24, 0);

        sample.min_rtt_us = row->path_us;
        for (int k = 0; k < 7; k++)
            tick(estimator, sample);
        assert_int_equal(cwnd_of(estimator), 48);
        sample = busy(40);
        sample.min_rtt_us = row->now_us;
        for (int n = 1; n < 20; n++)
            assert_row(tick(estimator, sample) == (row->is_other && n >= 8 ? START : 48));
    }
}

/* Two hosts behind one address: the path of most connections is learned, and stays. */
TEST(another_path_in_between_is_not_learned)
{
    ESTIMATOR *estimator = begun(true);

    for (int i = 0; i < 2000; i++) {
        uint32_t before = cwnd_of(estimator);
        struct riptide_sample sample = closed(before, before, 0);

        sample.min_rtt_us = i % 8 > 0 ? RTT_US / 20 : RTT_US;
        assert_true(tick(estimator, sample) >= before);
    }
    assert_int_equal(explain(estimator).min_rtt_us, RTT_US);
    assert_in_range(cwnd_of(estimator), 1000, RIPTIDE_CWND_LIMIT);
}

/* Its connections opened with less, and some outlive the hint. */
TEST(end_of_a_hint_is_no_growth)
{
    ESTIMATOR *estimator = begun(false);

    flights(estimator, "....48");
    cap(estimator, "192.0.2.0/24", 20, 100 * S);
    flights(estimator, "........20");
    add_times(estimator, 10, closed(20, 60, 0));
    assert_int_equal(riptide_estimator_remove_hint(estimator, prefix_at("192.0.2.0/24")), 0);
    add_times(estimator, 10, closed(20, 60, 0));
    assert_int_equal(pass(estimator), 48);
    flights(estimator, "....96");
}

/* Held out, outside of the cgroup, in a pause, from before riptided: 0 segments are of ours. */
TEST(flights_without_our_window_do_not_count)
{
    struct riptide_hint off = { .dst = prefix("192.0.2.1"), .off = true };
    struct riptide_sample fits = closed(10, 60, 0), loses = closed(10, 60, 20);

    fits.initcwnd = loses.initcwnd = 0;
    for (int is_off = 0; is_off < 2; is_off++) {
        ESTIMATOR *estimator = begun(false);

        flights(estimator, "....48");
        if (is_off)
            set_hint(estimator, off);
        for (int i = 0; i < 10; i++) {
            add(estimator, i % 2 ? fits : loses);
            tick(estimator, loses);
            assert_true(explain(estimator).smoothed == 48);
            assert_int_equal(cwnd_of(estimator), is_off ? 0 : 48);
        }
        assert_int_equal(explain(estimator).samples, 2);
        if (is_off)
            assert_int_equal(riptide_estimator_remove_hint(estimator, &off.dst), 0);
        flights(estimator, "....96");
    }
}

/* Rounds of `n` connections, of which the first ones lose; the window after them. */
static uint32_t rounds(struct riptide_estimator *estimator, uint64_t interval_s, int n_rounds,
                       int n, int n_lossy)
{
    for (int round = 0; round < n_rounds; round++) {
        uint32_t cwnd = cwnd_of(estimator);

        add_times(estimator, n_lossy, closed(cwnd, cwnd, cwnd / 4));
        add_times(estimator, n - n_lossy, closed(cwnd, cwnd, 0));
        tick_at(estimator, estimator->input.now_ns + interval_s * S);
    }
    return cwnd_of(estimator);
}

TEST(losses_of_one_moment_cut_nothing)
{
    static const struct {
        const char *what, *series;
        uint64_t interval_s;
        int n_rounds, n, n_lossy_rounds, n_with_losses, n_lossy;
    } cases[] = {
        { "a steady rate", "", 1, 20, 100, 60, 100, 10 },
        { "a new destination", "", 1, 2, 100, 10, 100, 10 },
        { "a second of few", "", 1, 20, 8, 1, 8, 6 },
        { "a sudden crowd", "", 1, 20, 1, 1, 100, 3 },
        { "long intervals, after a cut", "....xxxx", 10, 1, 1000, 6, 1000, 70 },
    };

    EACH(row, cases) {
        ESTIMATOR *estimator = begun(false);
        uint32_t before;

        flights(estimator, row->series);
        before = rounds(estimator, row->interval_s, row->n_rounds, row->n, 0);
        assert_row(rounds(estimator, row->interval_s, row->n_lossy_rounds, row->n_with_losses,
                          row->n_lossy) >= before);
    }
}

/*
 * Lossy flights in a row until the window is paced. A tail that is lost waits for a timer: on a short
 * path that costs many round trips, and each flight counts twice.
 */
TEST(loss_counts_the_round_trips_that_it_cost)
{
    static const struct {
        const char *what;
        uint64_t busy_us;
        int n_flights;
    } cases[] = {
        { "no time", 2 * RTT_US, 4 },
        { "four round trips", 6 * RTT_US, 4 },
        { "six round trips", 8 * RTT_US, 3 },
        { "ten round trips", 12 * RTT_US, 2 },
    };

    EACH(row, cases) {
        ESTIMATOR *estimator = begun(true);
        struct riptide_sample lossy = closed(START, START, START / 4);
        int n = 0;

        flights(estimator, "..."); /* so that they are not rare */
        lossy.busy_time_us = row->busy_us;
        for (n = 0; n < 10 && !is_paced(estimator); n++)
            tick(estimator, lossy);
        assert_row(n == row->n_flights);
    }
}

/* Twenty a second are four within two round trips of 100 ms: four times four make it too large. */
TEST(flights_within_two_round_trips_are_one_step)
{
    for (int n_lossy = 15; n_lossy <= 16; n_lossy++) {
        ESTIMATOR *estimator = begun(true);

        for (int second = 0; second < 20; second++) {
            add_times(estimator, 20, closed(START, START / 2, 0));
            pass(estimator);
        }
        add_times(estimator, n_lossy, closed(START, START, START / 4));
        pass(estimator);
        assert_int_equal(is_paced(estimator), n_lossy == 16);
    }
}

/* Its smallest round trip time is that of a former path, or one of a queue: each dump shows it. */
TEST(idle_connection_says_nothing_of_the_path)
{
    for (int is_other = 0; is_other < 2; is_other++) {
        ESTIMATOR *estimator = begun(false);
        struct riptide_sample idle = opened(24, 24, 0), other = opened(24, 24, 0);

        flights(estimator, "....48");
        idle.shown = true;
        idle.min_rtt_us = is_other ? RTT_US : 11 * RTT_US;
        other.min_rtt_us = is_other ? RTT_US / 3 : RTT_US;
        for (int i = 0; i < 8; i++) {
            add(estimator, idle);
            tick(estimator, other);
        }
        assert_int_equal(explain(estimator).min_rtt_us, other.min_rtt_us);
    }
}

TEST(two_paths_behind_a_busy_address_are_not_forgotten_by_turns)
{
    ESTIMATOR *estimator = begun(false);

    for (int second = 0; second < 20; second++) {
        uint32_t cwnd = cwnd_of(estimator);

        for (int i = 0; i < 60; i++) {
            struct riptide_sample sample = closed(cwnd, cwnd, 0);

            if (i / 10 % 2 == 1)
                sample.min_rtt_us = 11 * RTT_US;
            add(estimator, sample);
        }
        assert_true(pass(estimator) >= cwnd);
    }
    assert_int_equal(explain(estimator).min_rtt_us, RTT_US);
}

TEST(window_of_small_segments_is_not_given_for_large_ones)
{
    ESTIMATOR *estimator = estimator_of_policy("careful");
    uint32_t cwnd = START;

    for (int i = 0; i < 20; i++) {
        struct riptide_sample small = opened(cwnd, cwnd, 0);

        small.mss_bytes = 88;
        cwnd = tick(estimator, small);
    }
    assert_int_equal(cwnd, 100);
    assert_int_equal(tick(estimator, busy(400)), START);
}

/*
 * The mean of an hour, on a path with room for 50 segments, of which others take up to 30, another
 * part in each two round trips.
 */
static double mean_window(bool can_pace, int per_s)
{
    enum { SECONDS = 3600, PATH = 50, OTHERS = 30, ROOMS_PER_S = 1000000 / (2 * RTT_US) };
    ESTIMATOR *estimator = begun(can_pace);
    double sum = 0;

    for (int second = 0; second < SECONDS; second++) {
        uint32_t cwnd = cwnd_of(estimator), lost = 0;

        for (int i = 0; i < per_s; i++) {
            if (per_s <= ROOMS_PER_S || i % (per_s / ROOMS_PER_S) == 0) {
                uint32_t room = PATH - below(OTHERS);

                lost = cwnd > (is_paced(estimator) ? 2 : 1) * room ? cwnd / 4 : 0;
            }
            add(estimator, closed(cwnd, cwnd, lost));
        }
        sum += pass(estimator);
    }
    return sum / SECONDS;
}

TEST(windows_at_1_10_and_100_connections_a_second_are_within_a_fifth)
{
    seed_fixed();
    for (int can_pace = 0; can_pace < 2; can_pace++) {
        const double means[] = { mean_window(can_pace, 1), mean_window(can_pace, 10),
                                 mean_window(can_pace, 100) };

        print_message("# %.1f, %.1f, %.1f segments%s\n", means[0], means[1], means[2],
                      can_pace ? ", paced" : "");
        for (int i = 0; i < 9; i++)
            assert_true(means[i / 3] <= 1.2 * means[i % 3]);
    }
}

/*
 * No window grows but after flights that may have filled it without a loss in the first one, and
 * then at most twofold; or back to where all begin.
 */
TEST(careful_never_exceeds_its_evidence)
{
    ESTIMATOR *estimator =
        ESTIMATOR_WITH("careful", config.cwnd_min = 1, config.cwnd_max = RIPTIDE_CWND_LIMIT);
    uint32_t n_filled[HOSTS] = { 0 }; /* since the window changed */
    uint64_t changed_ns[HOSTS] = { 0 };
    uint64_t now_ns = S, n_grown = 0;

    seed_random();
    for (int step = 0; step < 4000; step++) {
        struct riptide_estimate before[HOSTS] = { { .cwnd = 0 } };

        now_ns += S;
        for (uint32_t h = 0; h < HOSTS; h++)
            before[h] = find(estimator, host(h));
        for (uint32_t n = below(20); n > 0; n--) {
            struct riptide_sample sample = any_sample();
            uint32_t h = sample.dst.addr[3];

            sample.initcwnd = before[h].cwnd;
            sample.paced = before[h].pacing_percent == 100;
            sample.flight_ended = true;
            if (riptide_estimator_add(estimator, &sample) == 0)
                n_filled[h] += sample.data_segs_out >= before[h].cwnd + sample.retrans_segs;
        }
        tick_at(estimator, now_ns);
        for (uint32_t h = 0; h < HOSTS; h++) {
            struct riptide_estimate after = find(estimator, host(h));

            if (after.cwnd > 24 /* where all begin */ && after.cwnd > before[h].cwnd) {
                assert_true(n_filled[h] >= (now_ns - changed_ns[h] < 30 * S ? 4 : 2));
                assert_true(after.cwnd <= 2 * before[h].cwnd);
                n_grown++;
            }
            if (after.cwnd != before[h].cwnd) {
                n_filled[h] = 0;
                changed_ns[h] = now_ns;
            }
        }
    }
    assert_true(n_grown > 10);
}
