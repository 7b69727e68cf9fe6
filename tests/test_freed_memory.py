import subprocess
import sys
import time

import psutil
import pytest

from openproxy import freed_memory
from support.engine_server import running


def test_freed_pieces_below_one_that_is_in_use_go_back_to_the_system():
    process = psutil.Process()
    pieces = [bytes(2000) for _ in range(50_000)]
    pinned = bytes(2000)
    del pieces
    held = process.memory_info().rss
    freed_memory.give_back()
    assert held - process.memory_info().rss > 50_000_000
    assert len(pinned) == 2000


_CHURN = """
import resource
from openproxy import freed_memory

def churn():
    buffers = [bytes(bytearray(300_000)) for _ in range(16)]

freed_memory.hold_some()
churn()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(100):
    churn()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_buffers_that_come_and_go_take_no_new_pages():
    told = subprocess.run([sys.executable, "-c", _CHURN], capture_output=True, text=True, check=True)
    assert int(told.stdout) < 1000


def at_rest(process: psutil.Process) -> int:
    """Bytes of memory when the work is over: the least of the next second."""
    sizes = []
    for _ in range(20):
        sizes.append(process.memory_info().rss)
        time.sleep(0.05)
    return min(sizes)


@pytest.mark.all
def test_the_process_of_the_model_is_no_larger_after_many_requests_than_after_a_few():
    with running("-m", "tiny.en", "--parallel", "1") as server:
        sizes = []
        for count in (5, 20):
            for _ in range(count):
                assert server.post("B07_half_second_word.wav").status_code == 200
            sizes.append(at_rest(server.worker))
    assert sizes[1] <= 1.10 * sizes[0]
