"""One look at all open connections as columns: what a script does before pandas."""

import riptide

if __name__ == "__main__":
    print(len(riptide.observe_columns()["cwnd"]))
