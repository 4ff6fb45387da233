"""Files, locks, paths, processes, threads, device, seeds and text: knows nothing of hiding."""
