# Writes the man page of leasehold-lab: FROM, with the options of each subcommand as its --help has them.
#   cmake -DLAB=build/bin/leasehold-lab -DFROM=leasehold-lab.1.in -DTO=leasehold-lab.1 -P man_page.cmake
cmake_minimum_required(VERSION 3.25)

function(help_of result)
  execute_process(COMMAND ${LAB} ${ARGN} --help OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\\" "\\e" text "${text}")
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

help_of(all)
string(REGEX MATCHALL "\n  [a-z]+\t" names "${all}")
set(SUBCOMMANDS "")
foreach(name ${names})
  string(STRIP "${name}" name)
  help_of(help ${name})
  string(REGEX REPLACE " *\n    +" " " help "${help}")  # what an option says goes on in further lines
  string(REGEX REPLACE "^usage: ([^\n]*)\n\n" ".SS ${name}\n.B \\1\n.PP\n" help "${help}")
  string(REGEX REPLACE " Options:\n" "\n" help "${help}")
  # As "  -h [ --help ] arg (=default)   what it does".
  string(REGEX REPLACE
    "\n  (-[a-z] \\[ )?(--[a-z-]+)( \\])?(( arg| [A-Z/]+)?( \\(=[^)\n]*\\))?) +([^\n]*)"
    "\n.TP\n.B \"\\2\\4\"\n\\7" help "${help}")
  string(APPEND SUBCOMMANDS "${help}")
endforeach()
string(REPLACE "-" "\\-" SUBCOMMANDS "${SUBCOMMANDS}")
configure_file(${FROM} ${TO} @ONLY)
