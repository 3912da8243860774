# The module of `find_package(Opwright)`; `opwright --cmake-dir` prints the folder that it is in:
#
#   execute_process(COMMAND opwright --cmake-dir OUTPUT_VARIABLE Opwright_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)
#   find_package(Opwright 0.1 REQUIRED)
#
#   opwright_generate(my_generated
#     OUT ${CMAKE_BINARY_DIR}/generated
#     SOURCE_PATH ${CMAKE_SOURCE_DIR}/aten/src/ATen    # or: TORCH 2.13.0
#     FAMILIES headers sources                         # all by default
#     OPTIONS --rocm                                   # any other arguments of `opwright generate`
#     OUTPUTS my_outputs)                              # gets the list of files
#
# The target `my_generated` makes the files; make what compiles or includes them depend on it. It runs when an input
# changes, and touches only files whose bytes change.
#
#   find_package(Torch REQUIRED)
#   opwright_add_operator_library(acme_operators
#     YAML operators.yaml                              # library files
#     SOURCES csrc/kernels.cpp                         # the author's sources; those in CUDA end in .cu
#     DESTINATION acme_ops                             # where the shared object and the Python modules are installed
#     OUTPUT_NAME _C                                   # the name of the shared object (default: _C)
#     OPTIONS --strict                                 # other arguments of `opwright generate`, such as --plugin acme.py
#     PYTHON_FILES my_modules)                         # gets the list of generated Python modules
#
# The target `acme_operators` is a shared library with the generated code and the sources. It has the include folders that
# callers in C++ need. Of a library with `abi: dlpack`, it is the one with the kernels, which needs no PyTorch, and there
# is a target for each framework that is found, `acme_operators_torch` after `find_package(Torch)`, and
# `acme_operators_jax` and `acme_operators_tvm_ffi` for those of `Python3_EXECUTABLE`.

if(NOT DEFINED OPWRIGHT_COMMAND)
  find_program(OPWRIGHT_PROGRAM opwright HINTS ENV VIRTUAL_ENV PATH_SUFFIXES bin Scripts)
  set(OPWRIGHT_COMMAND "${OPWRIGHT_PROGRAM}")
endif()
if(NOT OPWRIGHT_COMMAND)
  set(Opwright_FOUND FALSE)
  set(Opwright_NOT_FOUND_MESSAGE "the program `opwright` was not found; set OPWRIGHT_COMMAND to how it is called")
  return()
endif()

function(opwright_generate target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUT;SOURCE_PATH;TORCH;RELEASE;OUTPUTS" "FAMILIES;OPTIONS")
  if(NOT arg_OUT)
    message(FATAL_ERROR "opwright_generate: OUT names the folder to write below")
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "opwright_generate: unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()

  set(command ${OPWRIGHT_COMMAND} generate --out "${arg_OUT}" ${arg_OPTIONS})
  foreach(pair "SOURCE_PATH;--source-path" "TORCH;--torch" "RELEASE;--release")
    list(GET pair 0 name)
    list(GET pair 1 flag)
    if(arg_${name})
      list(APPEND command ${flag} "${arg_${name}}")
    endif()
  endforeach()
  foreach(family IN LISTS arg_FAMILIES)
    list(APPEND command --only ${family})
  endforeach()

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.opwright")
  file(MAKE_DIRECTORY "${folder}")
  execute_process(
    COMMAND ${command} --list-outputs=cmake
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    OUTPUT_FILE "${folder}/outputs.cmake"
    RESULT_VARIABLE status
    ERROR_VARIABLE faults)
  if(NOT status EQUAL 0)
    # CMake wraps the text of errors, and leaves that of notices as it is.
    message(NOTICE "${faults}")
    message(FATAL_ERROR "opwright_generate: the outputs cannot be listed, for the reasons above")
  endif()
  include("${folder}/outputs.cmake")

  # One file stands for the run: it is touched each time, also where no output changes, so that Make is content.
  set(stamp "${folder}/done")
  set(depfile "${folder}/inputs.d")
  add_custom_command(
    OUTPUT "${stamp}"
    BYPRODUCTS ${opwright_outputs}
    COMMAND ${command} --stamp "${stamp}" --depfile "${depfile}"
    DEPFILE "${depfile}"
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    COMMENT "Generating from operators below ${arg_OUT}"
    VERBATIM)
  add_custom_target(${target} ALL DEPENDS "${stamp}")
  set_source_files_properties(${opwright_outputs} PROPERTIES GENERATED TRUE)

  # Any edit of an input, and another Opwright, may change the list of outputs.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${opwright_inputs})
  if(arg_OUTPUTS)
    set(${arg_OUTPUTS} ${opwright_outputs} PARENT_SCOPE)
  endif()
endfunction()

# Ends the configuration if a source of the package that modules are installed into has the name of one of them: what is
# installed last would replace the other.
function(_opwright_check_sources destination)
  if(IS_ABSOLUTE "${destination}")
    cmake_path(GET destination FILENAME destination)
  endif()
  foreach(module IN LISTS ARGN)
    cmake_path(GET module FILENAME name)
    foreach(top "" "src/" "python/")
      set(source "${CMAKE_CURRENT_SOURCE_DIR}/${top}${destination}/${name}")
      if(EXISTS "${source}" AND NOT IS_DIRECTORY "${source}")
        file(READ "${source}" head LIMIT 4096)
        if(head AND (NOT head MATCHES "[Gg]enerated (file )?(by|from)"
            OR head MATCHES "([Nn]ot|n't) [Gg]enerated (file )?(by|from)|[Gg]enerated by hand"))
          message(NOTICE "opwright_add_operator_library: ${source} does not say that it is generated, and a generated "
            "module of this name would replace it: rename it, or name another package, such as "
            "DESTINATION ${destination}/_generated")
          message(FATAL_ERROR "opwright_add_operator_library: a generated module would replace ${source} (E1212)")
        endif()
      endif()
    endforeach()
  endforeach()
endfunction()

# Adds the shared objects with which the frameworks that are found call the kernels of a target, and sets the variable
# `frameworks` of the caller to their targets.
function(_opwright_add_frameworks target cuda_sources)
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
  set(added "")
  foreach(pair "torch;_C" "jax;_jax;jaxlib" "tvm_ffi;_tvm_ffi;tvm_ffi")
    list(GET pair 0 name)
    list(GET pair 1 object)
    set(source ${ARGN})
    list(FILTER source INCLUDE REGEX "/${name}\\.cpp$")
    set(folder "")
    if(source AND NOT name STREQUAL "torch")
      list(GET pair 2 package)
      execute_process(
        COMMAND "${Python3_EXECUTABLE}" -c "from importlib.util import find_spec; s = find_spec('${package}'); \
print(s.submodule_search_locations[0] if s else '')"
        OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE)
    endif()
    if(NOT source OR (NOT folder AND NOT (name STREQUAL "torch" AND TARGET torch)))
      continue()
    endif()
    set(thin ${target}_${name})
    add_library(${thin} SHARED ${source})
    add_dependencies(${thin} ${target}_code)
    set_target_properties(${thin} PROPERTIES PREFIX "" OUTPUT_NAME ${object} CXX_VISIBILITY_PRESET hidden
      BUILD_RPATH_USE_ORIGIN TRUE INSTALL_RPATH "$<IF:$<PLATFORM_ID:Darwin>,@loader_path,$ORIGIN>")
    target_link_libraries(${thin} PRIVATE ${target})
    if(name STREQUAL "torch")
      target_link_libraries(${thin} PRIVATE ${TORCH_LIBRARIES})
      target_compile_definitions(${thin} PRIVATE $<$<BOOL:${cuda_sources}>:USE_CUDA>)
    else()
      target_include_directories(${thin} PRIVATE "${folder}/include")
    endif()
    if(name STREQUAL "tvm_ffi")
      target_link_directories(${thin} PRIVATE "${folder}/lib")
      target_link_libraries(${thin} PRIVATE tvm_ffi)
    endif()
    list(APPEND added ${thin})
  endforeach()
  set(frameworks ${added} PARENT_SCOPE)
endfunction()

function(opwright_add_operator_library target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DESTINATION;OUTPUT_NAME;PYTHON_FILES" "YAML;SOURCES;OPTIONS")
  if(NOT arg_YAML)
    message(FATAL_ERROR "opwright_add_operator_library: YAML names the library files")
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "opwright_add_operator_library: unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(cuda_sources ${arg_SOURCES})
  list(FILTER cuda_sources INCLUDE REGEX "\\.cu$")
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(cuda_sources AND NOT "CUDA" IN_LIST languages)
    list(GET cuda_sources 0 source)
    message(FATAL_ERROR "opwright_add_operator_library: ${source} needs the language CUDA: call enable_language(CUDA)")
  endif()
  if(NOT arg_OUTPUT_NAME)
    set(arg_OUTPUT_NAME _C)
  endif()

  set(out "${CMAKE_CURRENT_BINARY_DIR}/${target}.generated")
  set(libraries "")
  foreach(file IN LISTS arg_YAML)
    list(APPEND libraries --library "${file}")
  endforeach()
  opwright_generate(${target}_code OUT "${out}" TORCH auto OPTIONS ${libraries} ${arg_OPTIONS} OUTPUTS outputs)
  set(sources ${outputs})
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  set(modules ${outputs})
  list(FILTER modules INCLUDE REGEX "/python/")
  set(shared ${sources})
  list(FILTER shared INCLUDE REGEX "/calls\\.cpp$")
  if(NOT shared AND NOT TARGET torch)
    message(FATAL_ERROR "opwright_add_operator_library: call find_package(Torch REQUIRED) first")
  endif()

  if(shared)
    add_library(${target} SHARED ${shared} ${arg_SOURCES})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME "${target}_kernels" CXX_VISIBILITY_PRESET hidden)
    target_compile_features(${target} PUBLIC cxx_std_17)
  else()
    add_library(${target} SHARED ${sources} ${arg_SOURCES})
    set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME "${arg_OUTPUT_NAME}")
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_compile_definitions(${target} PUBLIC AT_PER_OPERATOR_HEADERS)
    target_link_libraries(${target} PUBLIC ${TORCH_LIBRARIES})
    separate_arguments(flags NATIVE_COMMAND "${TORCH_CXX_FLAGS}")
    target_compile_options(${target} PUBLIC ${flags})
  endif()
  add_dependencies(${target} ${target}_code)
  target_include_directories(${target} PUBLIC "${out}/include" "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../libraries/include")
  if(cuda_sources)
    # Of CUDA's runtime, a process has the one of PyTorch. Headers of the stable ABI declare the stream with USE_CUDA.
    find_package(CUDAToolkit REQUIRED)
    set_target_properties(${target} PROPERTIES CUDA_STANDARD 20 CUDA_RUNTIME_LIBRARY Shared)
    target_compile_definitions(${target} PRIVATE USE_CUDA "$<$<CONFIG:Debug>:OPWRIGHT_CHECK_LAUNCHES>")
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>")
    target_link_libraries(${target} PRIVATE CUDA::cudart)
  endif()
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    # Otherwise a missing kernel would be an error when the library is loaded, not when it is linked.
    target_link_options(${target} PRIVATE "LINKER:--no-undefined")
  endif()
  set(targets ${target})
  if(shared)
    _opwright_add_frameworks(${target} "${cuda_sources}" ${sources})
    list(APPEND targets ${frameworks})
  endif()
  if(arg_DESTINATION)
    _opwright_check_sources("${arg_DESTINATION}" ${modules})
    install(TARGETS ${targets} LIBRARY DESTINATION "${arg_DESTINATION}" RUNTIME DESTINATION "${arg_DESTINATION}")
    install(FILES ${modules} DESTINATION "${arg_DESTINATION}")
    # What other libraries need to call the operators from C++.
    set(headers ${outputs})
    list(FILTER headers INCLUDE REGEX "/ops\\.h$")
    foreach(header IN LISTS headers)
      cmake_path(GET header PARENT_PATH folder)
      cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${out}/include" OUTPUT_VARIABLE NAMESPACE)
      string(REPLACE "/" "_" NAMESPACE "${NAMESPACE}")
      set(package "${CMAKE_CURRENT_BINARY_DIR}/${target}.cmake/${NAMESPACE}-config.cmake")
      configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/library-config.cmake.in" "${package}" @ONLY)
      install(FILES "${package}" DESTINATION "${arg_DESTINATION}/cmake")
    endforeach()
    install(DIRECTORY "${out}/include/" DESTINATION "${arg_DESTINATION}/include" FILES_MATCHING PATTERN "ops.h")
  endif()
  if(arg_PYTHON_FILES)
    set(${arg_PYTHON_FILES} ${modules} PARENT_SCOPE)
  endif()
endfunction()
