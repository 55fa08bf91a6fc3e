# laneway: the runtime, src/<layer>/. laneway_apps: the programs that the command line and Python call. laneway_compared:
# programs that do the same in several styles of communication, for the tests and benchmarks alone.
file(GLOB library_sources CONFIGURE_DEPENDS src/*.cpp src/*/*.cpp src/*/cpu/*.cpp src/*/checked/*.cpp)
file(GLOB app_sources CONFIGURE_DEPENDS apps/*/*.cpp)
file(GLOB compared_sources CONFIGURE_DEPENDS apps/all_reduce/*.cpp apps/jacobi/*.cpp apps/ping_pong/*.cpp
                                             apps/training/*.cpp)
list(REMOVE_ITEM app_sources ${compared_sources})
if(LANEWAY_HAS_CUDA)
    file(GLOB gpu_sources CONFIGURE_DEPENDS src/*/*.cu src/*/cuda/*.cpp src/*/cuda/*.cu)
    file(GLOB gpu_app_sources CONFIGURE_DEPENDS apps/*/*.cu)
endif()
# Written once for all devices: host C++ in a build without nvcc, CUDA with it.
set(device_app_sources
    apps/bfs/bfs.cpp apps/cc/cc.cpp apps/cc/routed_components.cpp apps/cdlp/cdlp.cpp apps/color/color.cpp
    apps/filter/filter.cpp apps/gups/gups.cpp apps/indegree/indegree.cpp apps/kmeans/kmeans.cpp apps/kmer/kmer.cpp apps/matching/replay.cpp apps/md/md.cpp
    apps/messaging/messaging_study.cpp
    apps/pagerank/pagerank.cpp apps/pagerank/push_ranks.cpp apps/recursion/fibonacci.cpp apps/recursion/merge_sort.cpp apps/recursion/quadrature.cpp
    apps/recursion/queens.cpp apps/recursion/strassen.cpp apps/recursion/uts.cpp apps/service/service_study.cpp
    apps/sssp/near_far.cpp apps/sssp/shortest_paths.cpp apps/tasks/task_service.cpp apps/triangles/triangles.cpp
    apps/workspace/array_group.cpp apps/workspace/workspace.cpp)
if(LANEWAY_HAS_CUDA)
    set_source_files_properties(src/flow/copy_by_kernel.cpp ${device_app_sources} ${compared_sources}
        PROPERTIES LANGUAGE CUDA)
endif()
# Fused multiply-adds would round distances, forces and sums in another way on some devices than on others.
if(LANEWAY_HAS_CUDA)
    set_source_files_properties(apps/kmeans/kmeans.cpp apps/md/md.cpp apps/recursion/quadrature.cpp ${compared_sources}
        PROPERTIES COMPILE_OPTIONS "--fmad=false;-Xcompiler=-ffp-contract=off")
endif()

find_package(Threads REQUIRED)
find_package(ZLIB)
find_package(LibLZMA)

# Where nothing is to be compiled again, the sources of a folder are one file to the compiler: most of what they cost is
# reading headers.
option(LANEWAY_UNITY "Compile sources that are alike at once: those of a folder, programs of a kind, tests of a layer" OFF)
function(compile_at_once target)
    set(sources ${ARGN})
    # The scheduler's types have fields of internal ones; what stands in for CUDA makes room where CUDA's part is linked.
    list(FILTER sources EXCLUDE REGEX "(checked/scheduler|no_cuda)\\.cpp$|\\.cu$|/cuda/")
    foreach(source IN LISTS sources)
        get_filename_component(folder ${source} DIRECTORY)
        get_filename_component(layer ${folder} NAME)
        set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${layer})
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# What checked devices run at every step of a lane: at -O1 their tests take longer by a seventh.
if(LANEWAY_OPTIMIZATION STREQUAL "-O1")
    set_source_files_properties(src/simt/checked/context.cpp src/simt/checked/scheduler.cpp
        PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O2> SKIP_PRECOMPILE_HEADERS ON)
endif()

add_library(laneway STATIC ${library_sources} ${gpu_sources})
if(LANEWAY_UNITY)
    compile_at_once(laneway ${library_sources})
endif()
add_library(laneway::laneway ALIAS laneway)
target_compile_features(laneway PUBLIC cxx_std_20)
target_include_directories(laneway
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
    PRIVATE src)
target_compile_definitions(laneway
    PUBLIC LANEWAY_HAS_CUDA=${LANEWAY_HAS_CUDA} LANEWAY_CHECKED_LANES=${LANEWAY_CHECKED_LANES}
    PRIVATE LANEWAY_HAS_ZLIB=$<BOOL:${ZLIB_FOUND}> LANEWAY_HAS_LZMA=$<BOOL:${LIBLZMA_FOUND}>)
target_link_libraries(laneway
    PUBLIC Threads::Threads
    PRIVATE $<BUILD_INTERFACE:laneway_flags> $<$<BOOL:${ZLIB_FOUND}>:ZLIB::ZLIB>
            $<$<BOOL:${LIBLZMA_FOUND}>:LibLZMA::LibLZMA>)
if(LANEWAY_HAS_CUDA)
    # The static runtime opens the driver when it is first used: without a driver it reports that, and no more.
    target_link_libraries(laneway PUBLIC CUDA::cudart_static)
    # One template serves host and device, so its constexpr helpers must run on both.
    target_compile_options(laneway PUBLIC $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr --extended-lambda>)
    # Not by cuda_std_20: CMake 3.25 does not know that nvcc 12 and newer take it.
    target_compile_options(laneway INTERFACE $<INSTALL_INTERFACE:$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>>)
endif()
target_precompile_headers(laneway PRIVATE <algorithm> <atomic> <charconv> <functional> <memory> <mutex> <string>
                                          <thread> <vector>)
foreach(codec ZLIB LIBLZMA)
    if(NOT ${codec}_FOUND)
        message(STATUS "${codec}: not found; files compressed this way cannot be read")
    endif()
endforeach()

option(LANEWAY_CHECKED_PROGRAMS "Build the programs for checked devices as well, which takes as long as for threads" ON)
function(laneway_programs name)
    add_library(${name} STATIC ${ARGN})
    target_compile_definitions(${name} PRIVATE LANEWAY_CHECKED=$<BOOL:${LANEWAY_CHECKED_PROGRAMS}>)
    target_include_directories(${name} PUBLIC apps)
    target_link_libraries(${name} PUBLIC laneway PRIVATE laneway_flags)
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
    if(NOT LANEWAY_HAS_CUDA)  # else nvcc compiles what includes it
        if(name STREQUAL "laneway_apps")
            target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include/laneway/runtime.hpp)
        else()
            target_precompile_headers(${name} REUSE_FROM laneway_apps)
        endif()
    endif()
endfunction()
laneway_programs(laneway_apps ${app_sources} ${gpu_app_sources})
if(LANEWAY_UNITY)  # programs that are alike share most of what the compiler instantiates
    list(TRANSFORM device_app_sources PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE compiled_by_nvcc)
    set(programs_search bfs cc cdlp color triangles)
    set(programs_rank sssp pagerank)
    set(programs_recursion recursion)
    set(programs_count gups indegree kmeans md)
    set(programs_select filter kmer matching)
    set(programs_serve messaging service tasks workspace)
    foreach(group search rank recursion count select serve)
        foreach(folder IN LISTS programs_${group})
            set(sources ${app_sources})
            list(FILTER sources INCLUDE REGEX "/apps/${folder}/")
            if(LANEWAY_HAS_CUDA)  # nvcc compiles these alone
                list(REMOVE_ITEM sources ${compiled_by_nvcc})
            endif()
            set_source_files_properties(${sources} PROPERTIES UNITY_GROUP ${group})
        endforeach()
    endforeach()
    # Its class has fields of internal types, which compilers warn of outside of the file that they compile.
    set_source_files_properties(apps/tasks/task_service.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    set_target_properties(laneway_apps PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endif()
if(LANEWAY_TESTS OR LANEWAY_BENCH)
    laneway_programs(laneway_compared ${compared_sources})
    if(NOT LANEWAY_BENCH)  # the tests alone, as these are compiled
        target_compile_options(laneway_compared PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-Og>)
    endif()
    if(LANEWAY_UNITY AND NOT LANEWAY_HAS_CUDA)
        compile_at_once(laneway_compared ${compared_sources})
    endif()
endif()
if(LANEWAY_HAS_CUDA)
    # The pool's program once more, as PTX that the library holds: bodies that users write are linked to it while it runs.
    set(oldest ${CMAKE_CUDA_ARCHITECTURES})
    list(FILTER oldest INCLUDE REGEX "^[0-9]")  # words are native, for instance
    list(TRANSFORM oldest REPLACE "[^0-9].*" "")
    list(SORT oldest COMPARE NATURAL)
    if(oldest)
        list(GET oldest 0 oldest)
    else()
        set(oldest 80)
    endif()
    add_library(linkable_pool OBJECT apps/tasks/task_service.cpp)
    target_include_directories(linkable_pool PRIVATE apps)
    target_link_libraries(linkable_pool PRIVATE laneway laneway_flags)
    target_compile_definitions(linkable_pool PRIVATE LANEWAY_LINKS_BODIES)
    target_compile_options(linkable_pool PRIVATE -rdc=true)
    set_target_properties(linkable_pool PROPERTIES CUDA_PTX_COMPILATION ON CUDA_ARCHITECTURES ${oldest}-virtual)
    set(linkable_pool_ptx ${CMAKE_CURRENT_BINARY_DIR}/linkable_pool.ptx)
    add_custom_command(OUTPUT ${linkable_pool_ptx}
                       COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_OBJECTS:linkable_pool> ${linkable_pool_ptx}
                       DEPENDS linkable_pool $<TARGET_OBJECTS:linkable_pool>)
    set_source_files_properties(apps/tasks/linkable_pool.cpp PROPERTIES
        OBJECT_DEPENDS ${linkable_pool_ptx} COMPILE_DEFINITIONS LANEWAY_LINKABLE_POOL="${linkable_pool_ptx}")
endif()
