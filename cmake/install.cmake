# find_package(laneway) gives laneway::laneway.
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
        DESTINATION ${config_folder} COMPONENT development)
