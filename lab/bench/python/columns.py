# SPDX-License-Identifier: MIT
"""One look at all open connections as columns: what a script does before pandas.

With an argument as where numpy is not installed: columns are memoryviews.
"""

import sys

if len(sys.argv) > 1:
    sys.modules["numpy"] = None

import riptide  # noqa: E402

if __name__ == "__main__":
    print(len(riptide.observe_columns()["cwnd"]))
