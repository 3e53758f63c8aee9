"""Processor time of calls alone, without the interpreter's start: seconds, one pair a line.

Columns of all connections; then of one Sample of a list, made and two of its figures read.
"""

import sys
import time

import riptide


def used_s(work):
    start_s = time.process_time()
    result = work()
    return time.process_time() - start_s, result


def main():
    for _ in range(int(sys.argv[1])):
        columns_s, columns = used_s(riptide.observe_columns)
        samples_s, samples = used_s(riptide.observe)
        n = len(columns["cwnd"])
        del columns
        read_s, total = used_s(lambda: sum(s.cwnd + s.rtt_us for s in samples))
        assert total and len(samples) == n
        del samples
        print(columns_s, (samples_s - columns_s + read_s) / n, flush=True)


if __name__ == "__main__":
    main()
