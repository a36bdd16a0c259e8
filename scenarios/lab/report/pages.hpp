#pragma once

#include <string_view>

/// Files of this folder that the build embeds (scenarios/embed.cmake): for the page of a run, and
/// for a new story.
namespace leasehold::lab::pages {

extern const std::string_view new_story_scn_in;
extern const std::string_view run_page_css;
extern const std::string_view run_page_html;
extern const std::string_view run_page_js;

}  // namespace leasehold::lab::pages
