"""What every folder of tests has: the time limit and the fixtures of Support. pytest puts this directory into the path."""

from Support.fixtures import *  # noqa: F403
from Support.time_limit import time_limit  # noqa: F401
