# hone_controls(CONTROLS SOURCE...): builds the sources with the flags of CONTROLS.rsp, if there is one. gcc and clang read
# response files, so that nobody who builds needs hone. The sources are rebuilt when the file changes. Where hone is
# installed, the test "controls-NAME" says whether CONTROLS.hone still holds.
function(hone_controls controls)
  get_filename_component(controls "${controls}" ABSOLUTE)
  get_filename_component(name "${controls}" NAME)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${controls}.rsp")
  if(EXISTS "${controls}.rsp")
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS "@${controls}.rsp")
    set_property(SOURCE ${ARGN} APPEND PROPERTY OBJECT_DEPENDS "${controls}.rsp")
  endif()
  find_program(HONE hone)
  if(HONE AND EXISTS "${controls}.hone")
    add_test(NAME "controls-${name}" COMMAND "${HONE}" check "${controls}.hone")
  endif()
endfunction()
