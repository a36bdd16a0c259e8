# The laboratory as it is installed, and in the package leasehold-lab: the programs stand together in a
# folder of their own, where each finds the others beside it, and bin has a link to the command.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME lab)
set(programs lib/leasehold)
set(data ${CMAKE_INSTALL_DATADIR}/leasehold)
set(docs ${CMAKE_INSTALL_DATADIR}/doc/leasehold-lab)

install(TARGETS leasehold-lab leasehold-worker leasehold_clock_shim
        RUNTIME DESTINATION ${programs} LIBRARY DESTINATION ${programs})
install(PROGRAMS ${PROJECT_SOURCE_DIR}/scripts/fetch-mongod DESTINATION ${programs})

# The stories are found from the program on, wherever it was installed.
file(RELATIVE_PATH to_scenarios /x/${programs} /x/${data}/scenarios)
target_compile_definitions(leasehold-lab PRIVATE
  LEASEHOLD_TO_SCENARIOS="${to_scenarios}" LEASEHOLD_VERSION="${PROJECT_VERSION}")
install(DIRECTORY ambiguity-and-replication document-life documents extension-and-loss
                  load-and-fairness readers release time-and-the-holder
        DESTINATION ${data}/scenarios FILES_MATCHING PATTERN *.scn)
install(FILES canary-deletes-by-name.scn DESTINATION ${data}/scenarios)
install(DIRECTORY stores DESTINATION ${data}/scenarios USE_SOURCE_PERMISSIONS
        PATTERN stores_check.py EXCLUDE PATTERN __pycache__ EXCLUDE)
install(DIRECTORY workers others DESTINATION ${data}
        PATTERN *_test.cpp EXCLUDE PATTERN *.hpp EXCLUDE PATTERN *.lock EXCLUDE
        PATTERN package-lock.json EXCLUDE PATTERN __pycache__ EXCLUDE)

install(FILES ${PROJECT_SOURCE_DIR}/.github/actions/verify/action.yml DESTINATION ${data}/workers)

# The pages, whose links lead to the same neighbours and whose commands are those on the PATH.
foreach(page INCIDENTS MATRIX OTHERS SCN WORKERS guide/ci guide/own-set guide/verdict)
  get_filename_component(folder ${page} DIRECTORY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page}.md)
  file(READ ${page}.md text)
  string(REPLACE "build/bin/leasehold-lab" "leasehold-lab" text "${text}")
  string(REGEX REPLACE "scenarios/(workers|others)/" "/usr/share/leasehold/\\1/" text "${text}")
  string(REPLACE "scenarios/stores/" "/usr/share/leasehold/scenarios/stores/" text "${text}")
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${page}.md "${text}")
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${page}.md DESTINATION ${docs}/${folder})
endforeach()
install(FILES history.schema.json worker.schema.json DESTINATION ${docs})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE RENAME copyright DESTINATION ${docs})

function(install_link name target folder)
  file(RELATIVE_PATH to /x/${folder} /x/${target})
  file(CREATE_LINK ${to} ${CMAKE_CURRENT_BINARY_DIR}/links/${name} SYMBOLIC)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/links/${name} DESTINATION ${folder})
endfunction()
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/links)
install_link(leasehold-lab ${programs}/leasehold-lab ${CMAKE_INSTALL_BINDIR})
install_link(workers ${data}/workers ${docs})
install_link(others ${data}/others ${docs})
install_link(stores ${data}/scenarios/stores ${docs})

set(man_page ${CMAKE_CURRENT_BINARY_DIR}/leasehold-lab.1)
add_custom_command(OUTPUT ${man_page}
  COMMAND ${CMAKE_COMMAND} -DLAB=$<TARGET_FILE:leasehold-lab>
          -DFROM=${CMAKE_CURRENT_SOURCE_DIR}/lab/leasehold-lab.1.in -DTO=${man_page}
          -P ${CMAKE_CURRENT_SOURCE_DIR}/man_page.cmake
  DEPENDS leasehold-lab lab/leasehold-lab.1.in man_page.cmake
  VERBATIM)
add_custom_target(leasehold_lab_man_page DEPENDS ${man_page})
install(FILES ${man_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES lab/leasehold-lab.bash-completion RENAME leasehold-lab
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
