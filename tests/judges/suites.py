# SPDX-License-Identifier: MIT
"""Which tests and programs of others judge the virtual GPU: a suite a row.

A suite is what one Debian package brings. `where` names the ROCm generations whose package can be
had; a suite of another generation is left out. Names of tests are those of the expected files.
"""
import dataclasses
import re

# A failure that says so is not one of a kernel's result.
REFUSED = (r"hipError[A-Z]\w+|HSA_STATUS_ERROR\w*|RSMI_STATUS_\w*ERROR|rsmi_init|unhandled (cuda|system) error|"
           r"ROCm error|out of memory")

EACH, PROGRAMS, COMMANDS, TRACED = "each", "programs", "commands", "traced"


@dataclasses.dataclass
class Suite:
    name: str
    about: str
    where: tuple
    kind: str               # EACH: each test of one GoogleTest program by itself; PROGRAMS: each program
    packages: tuple = ()    # a name with * is the newest package that fits
    folder: str = ""        # of the programs; {unpacked} where packages were unpacked by hand
    program: str = ""       # of EACH
    commands: tuple = ()    # of COMMANDS and TRACED: (name, command, what it must print, more variables)
    pattern: str = r"test_"  # of PROGRAMS: file names
    unpack: bool = False    # the packages do not fit together: unpack them, and see what runs
    alias: tuple = ()       # of unpack: (library name that is wanted, package's library)
    env: dict = dataclasses.field(default_factory=dict)
    left_out: dict = dataclasses.field(default_factory=dict)  # of EACH: test: why
    part: dict = dataclasses.field(default_factory=dict)  # program: (GoogleTest's filter, why)
    gpus: int = 1
    refused: str = REFUSED
    crashed: str = "$^"     # what the program says when a child of it crashed
    limit_s: int = 600      # ends what hangs
    expected: str = ""      # file in expected/; else the suite's name

    def is_whole(self):
        """Each test that an expected file names is run: one that is not is a surprise."""
        return self.kind != EACH or not self.part


ROCRTST = Suite(
    "rocrtst", "ROCr's own tests", ("7.2.4",), EACH,
    packages=("libhsa-runtime64-tests", "libamd-smi*", "libe-smi64-1", "libmnl0", "libnl-3-200",
              "libnl-genl-3-200"),
    unpack=True,
    # used for its option -m alone, which prints sensors
    alias=(("libamd_smi.so.26", r"libamd_smi\.so\.[0-9]+"),),
    folder="{unpacked}/usr/libexec/rocm/libhsa-runtime64-tests", program="rocrtst64",
    env={"ROCRTST_KERNELS_PATH": "{folder}"},
    left_out={
        "rocrtstFunc.Max_Reference_Count": "calls hsa_init two thousand million times: minutes without any GPU",
        "rocrtstStress.Queue_CAS_Write_Index_ConcurrentTest":
            "four threads that spin take turns 16 million times: hours with fewer than four processors",
    },
    # its errors are numbers from 0x1000
    refused=REFUSED + r"|Which is: 4(09[6-9]|1[0-4][0-9])\b")


HOURS = "more GPUs than processors: each of its tests takes minutes"


def rccl(name, gpus, process_mask, about, part=""):
    return Suite(
        name, about, ("7.2.4",), EACH, packages=("librccl1-tests",),
        folder="/usr/libexec/rocm/librccl1-tests", program="rccl-UnitTests", gpus=gpus,
        env={"UT_MIN_GPUS": str(gpus), "UT_MAX_GPUS": str(gpus),
             "UT_PROCESS_MASK": str(process_mask), "UT_SHOW_TIMING": "0",
             # the machine may be slow; the default ends a collective after 5 s
             "UT_TIMEOUT_US": "300000000"},
        part={"rccl-UnitTests": (part, HOURS)} if part else {},
        crashed="pipe closed unexpectedly", limit_s=900, expected="rccl")


ROCM_TESTS = "/usr/libexec/rocm"
LLAMA = "/usr/libexec/x86_64-linux-gnu/llama.cpp-tests"
GEMM = "-m 128 -n 128 -k 128 -i 5"
LLAMA_OPS = ("ADD", "SOFT_MAX", "RMS_NORM", "ROPE", "CPY", "GET_ROWS")


def llama_commands():
    rows = [(f"perf.{op}", f"./test-backend-ops perf -o {op} -b ROCm0{some}", r"2/2 backends passed")
            for op, some in (("ADD", ""), ("MUL_MAT", " -p type_a=q4_0"), ("SOFT_MAX", ""))]
    rows += [(f"test.{op}", f"./test-backend-ops test -o {op} -b ROCm0", r"2/2 backends passed")
             for op in LLAMA_OPS]
    return tuple(rows + [("support", "./test-backend-ops support -b ROCm0", r"2/2 backends passed")])


def blas_commands():
    return tuple((f"{function}.{kind}", f"./rocblas-bench -f {function} -r {kind} {GEMM}", r"rocblas-Gflops")
                 for function, kind in (("gemm", "f32_r"), ("gemm", "f64_r"), ("gemv", "f32_r"),
                                        ("axpy", "f32_r"), ("dot", "f32_r"), ("trsm", "f32_r"),
                                        ("gemm_batched", "f32_r"),
                                        ("gemm_strided_batched", "f32_r")))


# hipCUB 6.4.3: 11 GB of memory after 5 minutes; two of the 56 tests alone said 770 MB in 50 s.
TOO_MANY_FAILURES = "GoogleTest keeps each of its millions of failed checks: more memory than there is"
TOO_MUCH_MEMORY = "what is left out holds more than 9 GB of memory"

# rocm-smi exits with RSMI_STATUS_NOT_SUPPORTED where a card has not all that it asks for
TOOLS = (("rocminfo", "rocminfo", r"gfx90a"),
         ("rocm-smi", "rocm-smi", r"(?m)^0\s.*[0-9.]+W", (0, 2)),
         ("rocm-smi-all", "rocm-smi -a", r"GPU\[0\]", (0, 2)))
CLINFO = (("clinfo", "clinfo", r"gfx90a"),)

EIGHT = "AllReduce.OutOfPlace:AllReduce.Channels"

SUITES = (
    Suite("tools", "what lists the GPU", ("5.2.3",), COMMANDS,
          packages=("rocminfo", "rocm-smi"), commands=TOOLS),
    Suite("tools", "what lists the GPU", ("6.4.3", "7.2.4"), COMMANDS,
          packages=("rocminfo", "rocm-smi", "clinfo", "rocm-opencl-icd"),
          commands=TOOLS + CLINFO),
    ROCRTST,
    rccl("rccl-2", 2, 1, "collectives over 2 GPUs in one process"),
    rccl("rccl-4", 4, 1, "collectives over 4 GPUs in one process", "All*"),
    rccl("rccl-8", 8, 1, "collectives over 8 GPUs in one process", EIGHT),
    rccl("rccl-processes-2", 2, 2, "collectives over 2 GPUs, a process each"),
    rccl("rccl-processes-8", 8, 2, "collectives over 8 GPUs, a process each", EIGHT),
    Suite("llama", "llama.cpp's test-backend-ops", ("6.4.3",), COMMANDS,
          packages=("llama.cpp-tests", "libggml0-backend-hip"), folder=LLAMA,
          commands=llama_commands()),
    Suite("rocblas", "rocblas-bench", ("6.4.3",), COMMANDS, packages=("librocblas4-bench",),
          folder=f"{ROCM_TESTS}/librocblas4-bench", commands=blas_commands()),
    Suite("rocblas", "rocblas-bench", ("7.2.4",), COMMANDS, packages=("librocblas5-bench",),
          folder=f"{ROCM_TESTS}/librocblas5-bench", commands=blas_commands()),
    # those of blocks and of the whole device take hours, and some keep millions of failed checks
    Suite("rocprim", "rocPRIM's tests but those of blocks and of the device", ("6.4.3", "7.2.4"), PROGRAMS,
          packages=("librocprim-tests",), folder=f"{ROCM_TESTS}/librocprim-tests",
          pattern=r"test_(?!block_|device_|lookback_)", limit_s=1800),
    Suite("hipcub", "hipCUB's tests", ("6.4.3", "7.2.4"), PROGRAMS,
          packages=("libhipcub-tests",), folder=f"{ROCM_TESTS}/libhipcub-tests", limit_s=1800,
          part={"test_hipcub_block_radix_sort": ("HipcubBlockRadixSort/0.*", TOO_MANY_FAILURES),
                "test_hipcub_device_radix_sort": ("-*.SortKeysOver4G", TOO_MUCH_MEMORY)}),
    Suite("rocrand", "rocRAND's tests", ("7.2.4",), PROGRAMS, packages=("librocrand1-tests",),
          folder=f"{ROCM_TESTS}/librocrand1-tests", limit_s=1800,
          # 10 million states of more than 500 bytes
          part={"test_rocrand_discrete": ("-*Sobol64Test", TOO_MUCH_MEMORY)}),
    Suite("hiprand", "hipRAND's tests", ("7.2.4",), PROGRAMS, packages=("libhiprand1-tests",),
          folder=f"{ROCM_TESTS}/libhiprand1-tests"),
    Suite("traced", "traces of these programs against the log", ("6.4.3",), TRACED,
          packages=("llama.cpp-tests", "libggml0-backend-hip", "librocprim-tests",
                    "librocblas4-bench"),
          commands=(
              ("llama.perf.ADD", f"{LLAMA}/test-backend-ops perf -o ADD -b ROCm0", ""),
              ("llama.test.SOFT_MAX", f"{LLAMA}/test-backend-ops test -o SOFT_MAX -b ROCm0", ""),
              ("rocprim.hipgraph_basic", f"{ROCM_TESTS}/librocprim-tests/test_hipgraph_basic", ""),
              ("rocprim.hipgraph_algs", f"{ROCM_TESTS}/librocprim-tests/test_hipgraph_algs", ""),
              ("rocprim.hip_async_copy", f"{ROCM_TESTS}/librocprim-tests/test_hip_async_copy", ""),
              ("rocblas.gemm", f"{ROCM_TESTS}/librocblas4-bench/rocblas-bench -f gemm -r f32_r"
               f" {GEMM}", ""))),
    Suite("traced", "traces of these programs against the log", ("7.2.4",), TRACED, gpus=2,
          packages=("librccl1-tests", "librocprim-tests", "librocblas5-bench"),
          env={"UT_MIN_GPUS": "2", "UT_MAX_GPUS": "2", "UT_PROCESS_MASK": "1",
               "UT_TIMEOUT_US": "300000000"},
          commands=(
              ("rccl.graph", f"{ROCM_TESTS}/librccl1-tests/rccl-UnitTests"
               " --gtest_filter=AllReduce.OutOfPlaceGraph", ""),
              ("rccl.streams", f"{ROCM_TESTS}/librccl1-tests/rccl-UnitTests"
               " --gtest_filter=GroupCall.Multistream", ""),
              ("rocprim.hipgraph_basic", f"{ROCM_TESTS}/librocprim-tests/test_hipgraph_basic", ""),
              ("rocprim.hipgraph_algs", f"{ROCM_TESTS}/librocprim-tests/test_hipgraph_algs", ""),
              ("rocprim.hip_async_copy", f"{ROCM_TESTS}/librocprim-tests/test_hip_async_copy", ""),
              ("rocblas.gemm", f"{ROCM_TESTS}/librocblas5-bench/rocblas-bench -f gemm -r f32_r"
               f" {GEMM}", ""))),
)


def of(generation, names=()):
    """The suites of a generation, or the named ones of them."""
    return [s for s in SUITES if generation in s.where
            and (not names or any(re.fullmatch(n, s.name) for n in names))]
