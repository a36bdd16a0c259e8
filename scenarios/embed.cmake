# Writes a source that defines a file's text as one of `pages` of scenarios/lab/report/report.hpp:
#   cmake -DFROM=run_page.js -DTO=run_page.js.cpp -P embed.cmake    defines pages::run_page_js
get_filename_component(file ${FROM} NAME)
string(MAKE_C_IDENTIFIER ${file} name)
file(READ ${FROM} text)
file(WRITE ${TO} "#include \"scenarios/lab/report/report.hpp\"

const std::string_view leasehold::lab::pages::${name} = R\"text(${text})text\";
")
