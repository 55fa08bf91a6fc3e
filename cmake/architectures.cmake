# Refuses GPUs that the library is not written for: of this build and of projects that use what it installs.
function(laneway_check_architectures architectures)
    foreach(architecture IN LISTS architectures)
        if(architecture MATCHES "^([0-9]+)" AND CMAKE_MATCH_1 LESS 80)
            message(FATAL_ERROR "laneway runs on GPUs of architecture 80 or newer, and CMAKE_CUDA_ARCHITECTURES is "
                                "${architectures}: configure with -DCMAKE_CUDA_ARCHITECTURES=90, or those of your GPUs")
        endif()
    endforeach()
endfunction()
