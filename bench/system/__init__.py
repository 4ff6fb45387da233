"""Files, locks, paths, processes, threads, devices, seeds, text and downloads: nothing specific to this benchmark."""
