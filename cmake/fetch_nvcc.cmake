# Installs the CUDA compiler from PyPI into the build folder. All parts are pinned together: newer nvvm or crt beside
# nvcc 13.0 write PTX that its ptxas refuses.
find_package(Python REQUIRED COMPONENTS Interpreter)
set(nvcc_site ${CMAKE_BINARY_DIR}/nvcc)
set(nvcc_root ${nvcc_site}/nvidia/cu13)
if(NOT EXISTS ${nvcc_root}/complete)
    message(STATUS "CUDA: installing nvcc 13.0.88 from PyPI")
    execute_process(
        COMMAND ${Python_EXECUTABLE} -m pip install --quiet --upgrade --target ${nvcc_site}
                cuda-toolkit[nvcc,cudart,cccl]==13.0.2
                nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88
        RESULT_VARIABLE result ERROR_VARIABLE messages)
    if(result)
        message(FATAL_ERROR "nvcc could not be installed from PyPI: ${messages}")
    endif()
    # The wheels hold lib/ and no unversioned library; nvcc and FindCUDAToolkit look for lib64/ and libcudart.so.
    file(CREATE_LINK lib ${nvcc_root}/lib64 SYMBOLIC)
    file(CREATE_LINK libcudart.so.13 ${nvcc_root}/lib/libcudart.so SYMBOLIC)
    file(TOUCH ${nvcc_root}/complete)
endif()
set(CMAKE_CUDA_COMPILER ${nvcc_root}/bin/nvcc CACHE FILEPATH "CUDA compiler" FORCE)
set(CUDAToolkit_ROOT ${nvcc_root})
