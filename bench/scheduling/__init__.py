"""Many cells: units of work, executors, prefetching, estimates and progress."""
