# laneway_flags: warnings of every target of this project, never passed on to its users.
add_library(laneway_flags INTERFACE)
target_compile_options(laneway_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<BOOL:$<TARGET_PROPERTY:MAY_SHADOW>>>>:-Wshadow>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${LANEWAY_WERROR}>>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC bugs 105651 and 105329: false alarms in std::string's operator+.
    target_compile_options(laneway_flags INTERFACE
        $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict -Wno-array-bounds -Wno-stringop-overflow>
        $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wno-restrict,-Wno-array-bounds,-Wno-stringop-overflow>)
endif()
if(LANEWAY_HAS_CUDA OR LANEWAY_CHECKS_GPU_CODE)
    # No -Wpedantic: the line markers that nvcc writes for the host compiler breach it.
    target_compile_options(laneway_flags INTERFACE
        $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow>
        $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${LANEWAY_WERROR}>>:-Werror=all-warnings -Xcompiler=-Werror>)
endif()
# Programs on CPU devices are as fast at -O2 as with CMake's -O3, and compiled sooner.
set(LANEWAY_OPTIMIZATION -O2 CACHE STRING "How host C++ is optimised in Release builds")
add_compile_options("$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:${LANEWAY_OPTIMIZATION}>")
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
    add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # a tenth of its time goes into collecting garbage where it saves memory
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=524288>)
endif()
if(LANEWAY_SANITIZE)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${LANEWAY_SANITIZE}>
                        $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
    if(LANEWAY_SANITIZE MATCHES undefined)
        add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=undefined>)  # else tests pass all the same
    endif()
    add_link_options(-fsanitize=${LANEWAY_SANITIZE})
endif()
if(LANEWAY_DELAYS)
    add_compile_definitions(LANEWAY_DELAYS=${LANEWAY_DELAYS})
endif()
