# Read by ctest before it starts: one test for each suite of an executable, named <prefix><suite>, so that a process runs
# many tests.
#
# Suites on GPUs (suites_on_gpus): processes that share one take turns on it, and where a program runs on several, its
# parts then wait for each other. So each has its GPU to itself, and what runs on all of them, as suites_on_all_gpus
# matches it, has all: one test for these, <prefix>all_gpus, as it takes long to open so many.
if(NOT EXISTS ${suites_executable})
    add_test("${suites_prefix}NOT_BUILT" ${suites_executable})  # fails
    return()
endif()
set(gpus "")
if(suites_on_gpus)
    set(gpus "$ENV{CUDA_VISIBLE_DEVICES}")
    if(NOT DEFINED ENV{CUDA_VISIBLE_DEVICES})
        execute_process(COMMAND sh -c "nvidia-smi --query-gpu=uuid --format=csv,noheader | paste -sd,"
                        OUTPUT_VARIABLE gpus OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    endif()
    string(REPLACE "," ";" gpus "${gpus}")
endif()
list(LENGTH gpus n_gpus)
if(n_gpus GREATER 1)
    list(TRANSFORM gpus PREPEND "gpu_" OUTPUT_VARIABLE all_gpus)
    add_test("${suites_prefix}all_gpus" ${suites_executable} "--gtest_filter=${suites_on_all_gpus}:-${suites_without}")
    set_tests_properties("${suites_prefix}all_gpus" PROPERTIES ${suites_properties} RESOURCE_LOCK "${all_gpus}" COST 100)
    string(APPEND suites_without ":${suites_on_all_gpus}")
endif()

execute_process(COMMAND ${suites_executable} --gtest_list_tests OUTPUT_VARIABLE listing)
string(REGEX MATCHALL "(^|\n)[^ \n]+\\.( |\n|$)" suites "${listing}")
string(REGEX REPLACE "[ \n]" "" suites "${suites}")
set(number 0)
foreach(suite IN LISTS suites)
    string(REGEX REPLACE "\\.$" "" suite ${suite})
    add_test("${suites_prefix}${suite}" ${suites_executable} "--gtest_filter=${suite}.*:-${suites_without}")
    set_tests_properties("${suites_prefix}${suite}" PROPERTIES ${suites_properties})
    if(n_gpus GREATER 0)
        math(EXPR place "${number} % ${n_gpus}")
        list(GET gpus ${place} gpu)
        set_tests_properties("${suites_prefix}${suite}" PROPERTIES RESOURCE_LOCK "gpu_${gpu}"
                             ENVIRONMENT "CUDA_VISIBLE_DEVICES=${gpu}")
        math(EXPR number "${number} + 1")
    endif()
endforeach()
