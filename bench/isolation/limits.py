"""What a process may take of the machine, set before any code of a plugin is loaded. Needs the standard library only.

Memory is limited three times. RLIMIT_DATA bounds the private memory of each process, exactly and at once. The filter of
system calls takes away what neither that limit nor another process could see: memory that belongs to no process.
The rest, shared mappings and the sum over all processes, is the watchdog's (bench.isolation.watchdog).
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import struct

SCRATCH_BYTES = 1 << 30
# Of /dev/shm, as containers have it: what lies there counts beside /tmp, and must not double what a limit allows.
SHARED_BYTES = 64 << 20
PROCESSES = 1024
# Buffers of pipes and sockets are the kernel's memory, and count for nobody.
OPEN_FILES = 4096

# Calls that a sealed attack gets ENOSYS for, by machine, as programs know it from older kernels.
#   memory that shows in no process: shmget, msgget, memfd_create, memfd_secret, add_key, io_uring_setup
#   into other processes: ptrace, process_vm_readv, process_vm_writev, pidfd_getfd
#   wide parts of the kernel that no attack needs: bpf, perf_event_open, userfaultfd
_REFUSED = {
    "x86_64": (0xC000003E, (29, 68, 319, 447, 248, 425, 101, 310, 311, 438, 321, 298, 323)),
    "aarch64": (0xC00000B7, (194, 186, 279, 447, 217, 425, 117, 270, 271, 438, 280, 241, 282)),
}
_X32 = 0x40000000
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2


def restrict(memory_mib: int, *, sealed: bool) -> None:
    """Limits of this process and all that it starts. They can be lowered, not raised."""
    limits = {resource.RLIMIT_DATA: memory_mib << 20}
    if sealed:
        limits |= {
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_FSIZE: SCRATCH_BYTES,  # also of what it prints, which lies on the parent's disk
            resource.RLIMIT_NPROC: PROCESSES,
            resource.RLIMIT_NOFILE: OPEN_FILES,
        }
    for what, limit in limits.items():
        _, most = resource.getrlimit(what)
        if limit or what == resource.RLIMIT_CORE:
            limit = limit if most == resource.RLIM_INFINITY else min(limit, most)  # a limit may be lowered only
            resource.setrlimit(what, (limit, limit))
    if sealed:
        refuse_calls()


def refuse_calls() -> bool:
    """Whether the filter is in force: not on other processors, nor on kernels without it."""
    if os.uname().machine not in _REFUSED:
        return False
    program = _program(*_REFUSED[os.uname().machine])
    code = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog: the number of instructions, and where they are.
    header = struct.pack("HP", len(program) // 8, ctypes.addressof(code))
    prctl = ctypes.CDLL(None).prctl
    prctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_ulong]
    prctl(_PR_SET_NO_NEW_PRIVS, 1, None, 0, 0)
    return bool(prctl(_PR_SET_SECCOMP, _FILTER, header, 0, 0) == 0)


def _program(machine: int, refused: tuple[int, ...]) -> bytes:
    """A classic BPF program over struct seccomp_data: the number of the call at 0, the machine at 4."""

    def step(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
        return struct.pack("HBBI", code, then, otherwise, value)

    end = len(refused)  # steps between the first comparison and the last
    steps = [
        step(_LOAD, 4),
        step(_EQUAL, machine, 0, end + 3),  # 32-bit calls have other numbers: none is let through
        step(_LOAD, 0),
        step(_AT_LEAST, _X32, end + 1, 0),
        *(step(_EQUAL, number, end - i, 0) for i, number in enumerate(refused)),
        step(_RETURN, _ALLOW),
        step(_RETURN, _ERRNO | errno.ENOSYS),
    ]
    return b"".join(steps)
