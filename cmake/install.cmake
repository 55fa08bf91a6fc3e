# find_package(laneway) gives laneway::laneway; pkg-config has the same as flags, for builds without CMake.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/laneway)

install(TARGETS laneway EXPORT laneway-targets COMPONENT development)
install(DIRECTORY include/laneway DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT laneway-targets NAMESPACE laneway:: DESTINATION ${config_folder} COMPONENT development)
configure_package_config_file(cmake/laneway-config.cmake.in ${PROJECT_BINARY_DIR}/laneway-config.cmake
                              INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/laneway-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/laneway-config.cmake ${PROJECT_BINARY_DIR}/laneway-config-version.cmake
              cmake/architectures.cmake
        DESTINATION ${config_folder} COMPONENT development)

# A static library does not bring what it uses itself.
set(linked_libraries "")
if(LANEWAY_HAS_CUDA)  # also where GPU code is only compiled, CMake has found the library
    set(gpu_libraries ${CUDA_cudart_static_LIBRARY})
endif()
foreach(file IN LISTS ZLIB_LIBRARIES LIBLZMA_LIBRARIES gpu_libraries)
    if(EXISTS ${file})
        get_filename_component(folder ${file} DIRECTORY)
        get_filename_component(name ${file} NAME_WE)
        if(NOT folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
            string(APPEND linked_libraries "-L${folder} ")
        endif()
        string(REGEX REPLACE "^lib" "-l" name ${name})
        string(APPEND linked_libraries "${name} ")
    endif()
endforeach()
string(APPEND linked_libraries "-lpthread -ldl -lrt")
file(RELATIVE_PATH path_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/laneway.pc.in ${PROJECT_BINARY_DIR}/laneway.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/laneway.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
