"""What `import bench` offers to Python programs and notebooks; the command line (bench.cli) is a thin layer over it."""

import logging

# A library is silent unless its user sets logging up; the command line does (bench.cli.main).
logging.getLogger("bench").addHandler(logging.NullHandler())
