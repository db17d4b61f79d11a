/* SPDX-License-Identifier: MIT
 *
 * Matrix products by cuBLAS, where it was there to build with. See cuda.h. */
#include "tools/bench/cuda.h"

#include <stddef.h>

#ifdef BENCH_CUBLAS

#include <cublas_v2.h>

const char *const bench_cuda_matmul_name = "cuBLAS";

enum ring_status bench_cuda_matmul(enum ring_dtype dtype, int n, const void *a, const void *b, void *c,
                                   void *stream, struct ring_error *error)
{
    static cublasHandle_t handle;
    const float one = 1.0f, zero = 0.0f;
    cudaDataType_t type = dtype == RING_BF16 ? CUDA_R_16BF : dtype == RING_FP16 ? CUDA_R_16F : CUDA_R_32F;
    cublasStatus_t status = handle ? CUBLAS_STATUS_SUCCESS : cublasCreate(&handle);

    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasSetStream(handle, stream);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, type, n, b, type, n, &zero,
                              c, type, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    if (status == CUBLAS_STATUS_SUCCESS)
        return RING_OK;
    return ring_fail(error, RING_WORLD, "cuBLAS: %s", cublasGetStatusString(status));
}

#else

const char *const bench_cuda_matmul_name = NULL;

enum ring_status bench_cuda_matmul(enum ring_dtype dtype, int n, const void *a, const void *b, void *c,
                                   void *stream, struct ring_error *error)
{
    (void)dtype, (void)n, (void)a, (void)b, (void)c, (void)stream;
    return ring_fail(error, RING_UNSUPPORTED, "built without cuBLAS");
}

#endif
