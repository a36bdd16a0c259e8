#pragma once

#include <map>
#include <string>
#include <string_view>

/// Files of this folder that the build embeds (scenarios/embed.cmake): for the page of a run, and
/// for a new story.
namespace leasehold::lab::pages {

extern const std::string_view new_story_scn_in;
extern const std::string_view run_page_css;
extern const std::string_view run_page_html;
extern const std::string_view run_page_js;

/// The page with the parts in the places that it names: `{{style}}`. They are inserted unchanged.
[[nodiscard]] std::string filled(std::string_view page,
                                 const std::map<std::string_view, std::string_view>& parts);

}  // namespace leasehold::lab::pages
