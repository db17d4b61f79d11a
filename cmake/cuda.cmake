# CUDA, where there is a compiler for it: found as CMake finds one, through CMAKE_CUDA_COMPILER, CUDACXX or the PATH.
# One that was named and does not work is an error; none at all switches the part off with one line. Neither a GPU nor
# its driver is needed to build.
include(CheckLanguage)

option(RINGLAB_CUDA "Build exec/cuda/ where there is a CUDA compiler" ON)
set(RINGLAB_HAS_CUDA OFF)
if(RINGLAB_CUDA)
  set(RINGLAB_CUDA_NAMED "$CACHE{CMAKE_CUDA_COMPILER}")
  if(NOT RINGLAB_CUDA_NAMED)
    set(RINGLAB_CUDA_NAMED "$ENV{CUDACXX}")
  endif()
  set(CMAKE_CUDA_ARCHITECTURES OFF) # exec/cuda/kernels says it itself
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    set(RINGLAB_HAS_CUDA ON)
  elseif(RINGLAB_CUDA_NAMED)
    message(FATAL_ERROR "ringlab: the CUDA compiler ${RINGLAB_CUDA_NAMED} does not work (name another, "
      "or none and -DRINGLAB_CUDA=OFF)")
  else()
    message(STATUS "ringlab: exec/cuda/ is switched off (install the CUDA toolkit and have nvcc on the PATH to have it)")
  endif()
else()
  message(STATUS "ringlab: exec/cuda/ is switched off (RINGLAB_CUDA is OFF)")
endif()
