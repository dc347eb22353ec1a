"""Run the tests as processors with other instruction sets would compute.

    python tools/processors.py -n 2 tests/samplers    the arguments are those of pytest

Every instruction set rounds sums in its own order. Environment variables say which one OpenBLAS, torch, torch's BLAS
and NumPy use, in pytest and in the processes that tests start. Sets that this processor does not have are left out. All
others run, even if the tests fail with one. What pytest prints is kept in build/processors.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import torch

LOGS = Path(__file__).resolve().parent.parent / "build" / "processors"
# NumPy's names of what comes after SSE 4.2 and after AVX2, those of 2.4 first; it ignores the names of other versions.
AFTER_AVX2 = "X86_V4 AVX512_ICL AVX512_SPR AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL"
AFTER_SSE = f"X86_V3 AVX2 FMA3 {AFTER_AVX2}"
# From the oldest to the newest. The wheels of NumPy and SciPy have no kernels of OpenBLAS that are newer: they use
# Haswell's on Zen, and SkylakeX's on every processor with AVX-512, also if it has AMX.
PROCESSORS = {
    "SSE 4.2": {
        "OPENBLAS_CORETYPE": "Nehalem",
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_CBWR": "COMPATIBLE",
        "NPY_DISABLE_CPU_FEATURES": AFTER_SSE,
    },
    "AVX2": {
        "OPENBLAS_CORETYPE": "Haswell",
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_CBWR": "AVX2",
        "NPY_DISABLE_CPU_FEATURES": AFTER_AVX2,
    },
    "AVX-512": {
        "OPENBLAS_CORETYPE": "SkylakeX",
        "ATEN_CPU_CAPABILITY": "avx512",
        "MKL_CBWR": "AVX512",
        "NPY_DISABLE_CPU_FEATURES": "",
    },
}
# How many of them a processor has, by what torch finds.
COUNTS = {"DEFAULT": 1, "AVX2": 2, "AVX512": 3}


def main(arguments: list[str]) -> int:
    x86 = platform.machine() in ("x86_64", "AMD64")
    available = list(PROCESSORS)[: COUNTS[torch.backends.cpu.get_cpu_capability()] if x86 else 0]
    LOGS.mkdir(parents=True, exist_ok=True)
    closing, failed = [], False
    for name, environment in PROCESSORS.items():
        if name not in available:
            closing.append(f"{name}: left out, because this processor does not have it.")
            continue
        print(f"{name}: {' '.join(f'{variable}={value!r}' for variable, value in environment.items())}", flush=True)
        log = LOGS / f"{name}.txt"
        with log.open("w") as file:
            command = [sys.executable, "-m", "pytest", *arguments]
            done = subprocess.run(
                command, env={**os.environ, **environment}, stdout=file, stderr=subprocess.STDOUT, check=False
            )
        lines = log.read_text().splitlines() or ["It printed nothing."]
        for line in lines:
            if line.startswith(("FAILED", "ERROR")):
                print(line)
        failed |= done.returncode != 0
        closing.append(
            f"{name}: {lines[-1]}" + (f" (exit code {done.returncode}; see {log})" if done.returncode else "")
        )
        print(closing[-1], flush=True)
    print("", *closing, sep="\n")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
