// Sources of CUDA have everything already. C++ gets the functions of the runtime.
#ifdef __CUDA__
#include "reuselens_nvcc.h"
#else
#include "cuda_runtime_api.h"
#ifndef __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_H__
#endif
#endif
