# What Debian's policy wants of a package and CPack leaves out. CPack runs this twice: when it has
# gathered the files of the packages, and when it has made them.
if(CPACK_PACKAGE_FILES)
  # CPack calls ldconfig in maintainer scripts; dpkg has a trigger for that, which the package names.
  foreach(package ${CPACK_PACKAGE_FILES})
    execute_process(COMMAND dpkg-deb -R ${package} ${package}.d COMMAND_ERROR_IS_FATAL ANY)
    file(REMOVE ${package}.d/DEBIAN/postinst ${package}.d/DEBIAN/postrm)
    execute_process(COMMAND dpkg-deb --root-owner-group -b ${package}.d ${package}
                    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
    file(REMOVE_RECURSE ${package}.d)
  endforeach()
  return()
endif()

string(REPLACE "." "\\." version ${CPACK_PACKAGE_VERSION})
execute_process(
  COMMAND sh -c "sed -n '/^## \\[${version}\\]/,/^## \\[/{/^[- ] /p}' '${CMAKE_CURRENT_LIST_DIR}/../../CHANGELOG.md' \
                 | sed 's/^- /* /' | fmt -t -w 74 | sed 's/^/  /'"
  OUTPUT_VARIABLE changes COMMAND_ERROR_IS_FATAL ANY)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # SOURCE_DATE_EPOCH, where it is set
string(TIMESTAMP year "%Y" UTC)
foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER CPACK_DEBIAN_${component}_PACKAGE_NAME name)
  set(name ${${name}})
  set(share ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/share)
  set(doc ${share}/doc/${name})
  file(WRITE ${doc}/copyright
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: leasehold

Files: *
Copyright: ${year} the developers of leasehold
License: Apache-2.0
 On Debian systems, the text of this license is in
 /usr/share/common-licenses/Apache-2.0.
")
  file(WRITE ${doc}/changelog "${name} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

${changes}
 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  file(GLOB pages ${share}/man/man*/*.?)
  execute_process(COMMAND gzip -9n ${doc}/changelog ${pages} COMMAND_ERROR_IS_FATAL ANY)
  if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/${name}.lintian-overrides)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.lintian-overrides
                   ${share}/lintian/overrides/${name} COPYONLY)
  endif()
endforeach()
