# Helpers of the build: warnings and sanitizers for our own code, and parts that can be missing.

find_package(Threads REQUIRED)
find_library(MATH_LIBRARY m)

add_library(ringlab_options INTERFACE)
target_include_directories(ringlab_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_definitions(ringlab_options INTERFACE _GNU_SOURCE)
target_compile_options(ringlab_options INTERFACE # nvcc has its own options
  "$<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wshadow;-Wconversion>"
  "$<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes;-Wmissing-prototypes>")
# No fused products where a processor has them (aarch64): the same sums are the same bits in both simulated worlds
# and in the golden files. The kernels say where they want FMA.
target_compile_options(ringlab_options INTERFACE "$<$<COMPILE_LANGUAGE:C,CXX>:-ffp-contract=off>")
if(RINGLAB_WERROR)
  target_compile_options(ringlab_options INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Werror>)
endif()
if(RINGLAB_SANITIZE)
  target_compile_options(ringlab_options INTERFACE
    "$<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=address,undefined;-fno-sanitize-recover=undefined;-fno-omit-frame-pointer>")
  target_link_options(ringlab_options INTERFACE -fsanitize=address,undefined)
endif()
target_link_libraries(ringlab_options INTERFACE $<$<BOOL:${MATH_LIBRARY}>:${MATH_LIBRARY}>)

# ringlab_part(name found packages): sets RINGLAB_HAS_NAME, or says in one line what is left out and how to get it.
function(ringlab_part name found packages)
  string(TOUPPER ${name} upper)
  if(${${found}})
    set(RINGLAB_HAS_${upper} ON PARENT_SCOPE)
  else()
    set(RINGLAB_HAS_${upper} OFF PARENT_SCOPE)
    message(STATUS "ringlab: ${name}/ is switched off (install ${packages} to have it)")
  endif()
endfunction()

# ringlab_library(name files...): a static library with our warnings. Say what it links with afterwards.
function(ringlab_library name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PUBLIC ringlab_options)
endfunction()

# ringlab_test(file libraries...): one cmocka program and one ctest entry, named after folder and file:
# test_plan.c in tests/engine becomes engine.plan.
function(ringlab_test file)
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  get_filename_component(base ${file} NAME_WE)
  string(REGEX REPLACE "^test_" "${folder}." name ${base})
  add_executable(${name} ${file})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${ARGN} ringlab_options PkgConfig::CMOCKA)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300) # a hang, even under sanitizers on a busy machine
endfunction()
